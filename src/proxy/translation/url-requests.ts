import { isRecord } from '../../core/is-record.js';
import { DomainError } from '../../core/domain-error.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import { missingUrlElicitation, URL_ELICITATION_REQUIRED } from '../protocol/json-rpc-error.js';

/** The beginning of the keys under which a client is asked to open a URL. */
const PREFIX = 'url_';

/**
 * Translates the error by which a legacy upstream asks to open URLs (MCP 2025-11-25, "URL Elicitation Required Error")
 * into the result that asks for input (MCP 2026-07-28, "Multi Round-Trip Requests"), or into the error for a client that
 * does not open URLs. It needs no `requestState`: the upstream has not processed the request, so the client's retry is
 * sent like a new one. Undefined for any other message.
 * @param isUrlClient true if the client asks people to open URLs
 */
export function toUrlRequests(message: Readonly<Record<string, unknown>>, isUrlClient: boolean): string | undefined {
  const { id, error } = message;
  if (!isRecord(error) || error['code'] !== URL_ELICITATION_REQUIRED) return undefined;
  const { message: text, data } = error;
  const elicitations = isRecord(data) && Array.isArray(data['elicitations']) ? data['elicitations'].filter(isUrl) : [];
  if (elicitations.length === 0) return undefined;
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
  if (!isUrlClient) return `${head}"error":${JSON.stringify(missingUrlElicitation(String(text), {}))}}`;
  const requests = elicitations.map(({ url, message: why }, index) => [
    `${PREFIX}${index + 1}`,
    { method: 'elicitation/create', params: { mode: 'url', url, message: why } },
  ]);
  const result = { resultType: 'input_required', inputRequests: Object.fromEntries(requests) as object };
  return `${head}"result":${JSON.stringify(result)}}`;
}

/** The error for a request whose client has refused to open a URL that the upstream asked for. */
export function refusalOfUrls({ params: { inputResponses } }: InboundRequest): DomainError | undefined {
  const answers = isRecord(inputResponses) ? Object.entries(inputResponses) : [];
  const isRefused = answers.some(
    ([key, answer]) => key.startsWith(PREFIX) && isRecord(answer) && answer['action'] !== 'accept',
  );
  const detail = 'The person did not open the page that the upstream asks for.';
  return isRefused ? new DomainError('upstream_authorization_required', detail) : undefined;
}

function isUrl(value: unknown): value is { url: string; message: string } {
  return isRecord(value) && typeof value['url'] === 'string' && typeof value['message'] === 'string';
}
