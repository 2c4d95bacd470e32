import { Readable } from 'node:stream';
import type { Implementation } from '@modelcontextprotocol/client';
import type { AnsweredWithRoom } from '../../core/answers/answer-room.js';
import { isRecord, parseRecord } from '../../core/is-record.js';
import { type AnswerBody, discard, wholeOf } from '../../upstreams/messages/answer-body.js';
import { dataOf, messageEvent, sseParts } from '../../upstreams/messages/sse-parts.js';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import type { Sent } from '../forwarding/upstream-sender.js';
import { canAsk, missingUrlElicitation, URL_ELICITATION_REQUIRED } from '../protocol/json-rpc-error.js';
import { memberRange, withMember, withNewMember } from '../../core/json/json-member.js';
import type { LogLevel } from '../../upstreams/contract/log-level.js';
import { isWantedLog } from './held-calls/call-notifications.js';
import { DomainError } from '../../core/domain-error.js';
import type { InboundRequest } from '../protocol/inbound-message.js';

/** Methods whose results declare how long and for whom they can be cached. */
const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** The request that is answered, and the upstream that answers it. */
interface AnsweredRequest {
  readonly method: string;
  readonly serverInfo: Implementation | undefined;
  /** True if the client asks people to open URLs. */
  readonly isUrlClient?: boolean;
  /** From which level on the client gets log messages; absent: none. */
  readonly logLevel?: LogLevel | undefined;
  readonly reportChange?: Sent['reportChange'];
}

/**
 * Translates the answer of a legacy upstream to one request into the modern era (MCP 2026-07-28, "Results").
 * @param response to the caller, which waits for room if it is large
 */
export function toModernAnswer(
  answer: UpstreamAnswer,
  answered: AnsweredRequest,
  response?: AnsweredWithRoom,
): UpstreamAnswer {
  const isStream = answer.contentType === 'text/event-stream';
  if (!isStream && answer.contentType !== 'application/json') return answer;
  const source = answer.body;
  const translated = isStream ? events : whole;
  const body = Readable.from(translated(source, answered, response), { objectMode: false });
  // A stream that is destroyed before it is read emits an error too, which would end the process without a listener.
  body.on('error', () => undefined);
  body.once('close', () => discard(source));
  return { ...answer, body };
}

/**
 * Adds the members that the modern era requires to the result of a message, as JSON text. The result is never cacheable
 * for other callers, because it depends on one caller's permissions. An error stays unchanged, unless it asks for what
 * the modern era asks for in another way.
 */
export function toModernMessage(text: string, { method, serverInfo, isUrlClient = false }: AnsweredRequest): string {
  const message = parseRecord(text);
  const urlRequests = message && canAsk(method) ? toUrlRequests(message, isUrlClient) : undefined;
  if (urlRequests !== undefined) return urlRequests;
  const result = message?.['result'];
  const range = memberRange(text, 0, 'result');
  if (!isRecord(result) || range === undefined) return text;
  // Searching a large text takes time, so only members that exist are searched for.
  const set = (json: string, name: string, value: string): string =>
    (Object.hasOwn(result, name) ? withMember : withNewMember)(json, range.start, name, value);
  let modern = set(text, 'resultType', '"complete"');
  if (CACHEABLE.has(method)) modern = set(set(modern, 'ttlMs', '0'), 'cacheScope', '"private"');
  if (serverInfo === undefined) return modern;
  const meta = isRecord(result['_meta']) ? memberRange(modern, range.start, '_meta') : undefined;
  return meta === undefined
    ? set(modern, '_meta', JSON.stringify({ [SERVER_INFO]: serverInfo }))
    : withMember(modern, meta.start, SERVER_INFO, JSON.stringify(serverInfo));
}

async function* whole(
  source: AnswerBody,
  answered: AnsweredRequest,
  response: AnsweredWithRoom | undefined,
): AsyncGenerator<Buffer> {
  const bytes = await gather(source, response);
  yield Buffer.from(toModernMessage(bytes.toString('utf8'), answered));
}

/** Reads the whole body. @throws UpstreamError if it is too large */
export function gather(source: AnswerBody, response?: AnsweredWithRoom): Promise<Buffer> {
  return wholeOf(source, tooLarge, response);
}

/**
 * Yields the response, its progress notifications and the log messages that the request wants; in the modern era, the
 * answer to a request contains nothing else.
 * The relay answers the requests of the upstream.
 */
async function* events(
  source: AnswerBody,
  answered: AnsweredRequest,
  response: AnsweredWithRoom | undefined,
): AsyncGenerator<Buffer> {
  for await (const { bytes, isWhole } of sseParts(source, undefined, response)) {
    if (!isWhole) throw tooLarge();
    const data = dataOf(bytes);
    const message = data === undefined ? undefined : parseRecord(data);
    if (data === undefined || message === undefined) continue;
    if (!('method' in message)) yield messageEvent(toModernMessage(data, answered));
    else if (
      'id' in message ||
      message['method'] === 'notifications/progress' ||
      isWantedLog(message, answered.logLevel)
    ) {
      yield messageEvent(data);
    } else answered.reportChange?.(message);
  }
}

function tooLarge(): UpstreamError {
  return new UpstreamError('protocol', 'The answer is too large to translate.');
}

/** The beginning of the keys under which a client is asked to open a URL. */
const URL_KEY_PREFIX = 'url_';

/**
 * Translates the error by which a legacy upstream asks to open URLs (MCP 2025-11-25, "URL Elicitation Required Error")
 * into the result that asks for input (MCP 2026-07-28, "Multi Round-Trip Requests"), or into the error for a client
 * that does not open URLs. It needs no `requestState`: the upstream has not processed the request, so the client's
 * retry is sent like a new one. Undefined for any other message.
 * @param isUrlClient true if the client asks people to open URLs
 */
function toUrlRequests(message: Readonly<Record<string, unknown>>, isUrlClient: boolean): string | undefined {
  const { id, error } = message;
  if (!isRecord(error) || error['code'] !== URL_ELICITATION_REQUIRED) return undefined;
  const { message: text, data } = error;
  const elicitations = isRecord(data) && Array.isArray(data['elicitations']) ? data['elicitations'].filter(isUrl) : [];
  if (elicitations.length === 0) return undefined;
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
  if (!isUrlClient) return `${head}"error":${JSON.stringify(missingUrlElicitation(String(text), {}))}}`;
  const requests = elicitations.map(({ url, message: why }, index) => [
    `${URL_KEY_PREFIX}${index + 1}`,
    { method: 'elicitation/create', params: { mode: 'url', url, message: why } },
  ]);
  const result = { resultType: 'input_required', inputRequests: Object.fromEntries(requests) as object };
  return `${head}"result":${JSON.stringify(result)}}`;
}

/** The error for a request whose client has refused to open a URL that the upstream asked for. */
export function refusalOfUrls({ params: { inputResponses } }: InboundRequest): DomainError | undefined {
  const answers = isRecord(inputResponses) ? Object.entries(inputResponses) : [];
  const isRefused = answers.some(
    ([key, answer]) => key.startsWith(URL_KEY_PREFIX) && isRecord(answer) && answer['action'] !== 'accept',
  );
  const detail = 'The person did not open the page that the upstream asks for.';
  return isRefused ? new DomainError('upstream_authorization_required', detail) : undefined;
}

function isUrl(value: unknown): value is { url: string; message: string } {
  return isRecord(value) && typeof value['url'] === 'string' && typeof value['message'] === 'string';
}
