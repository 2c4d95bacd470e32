import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { newId } from '../../core/ids.js';
import { isRecord } from '../../core/is-record.js';
import type { UpstreamRequest } from '../../upstreams/contract/upstream-request.js';
import { clientCapabilitiesOf, type InboundMessage } from './inbound-message.js';

const PREFIX = 'io.modelcontextprotocol/';

type Declared = Record<string, Record<string, never>>;

/**
 * The capabilities that the client of a message declares to answer requests of servers: elicitation, sampling, and
 * roots, without what decides on none of them. Undefined if it answers no request.
 */
export function answeredRequests(message: Pick<InboundMessage, 'params'>): ClientCapabilities | undefined {
  const declared = clientCapabilitiesOf(message);
  if (!isRecord(declared)) return undefined;
  const { elicitation, sampling, roots } = declared;
  const capabilities = {
    ...(isRecord(elicitation) && { elicitation: modesOf(elicitation) }),
    ...(isRecord(sampling) && { sampling: declaredOf(sampling, ['context', 'tools']) }),
    ...(isRecord(roots) && { roots: {} }),
  };
  return Object.keys(capabilities).length === 0 ? undefined : capabilities;
}

/** True if a client with these capabilities answers the request. */
export function answers(
  { elicitation, sampling, roots }: ClientCapabilities,
  { method, params = {} }: UpstreamRequest,
): boolean {
  if (method === 'elicitation/create') {
    return params['mode'] === 'url' ? elicitation?.url !== undefined : elicitation?.form !== undefined;
  }
  if (method === 'sampling/createMessage') {
    return sampling !== undefined && (params['tools'] === undefined || sampling.tools !== undefined);
  }
  return method === 'roots/list' && roots !== undefined;
}

/** The request of a legacy server as the modern era has it: without what concerns the session of the two. */
export function toInputRequest({ method, params = {} }: UpstreamRequest): Required<UpstreamRequest> {
  const { _meta: meta, elicitationId: _id, ...others } = params;
  const kept = Object.entries(isRecord(meta) ? meta : {}).filter(
    ([name]) => name !== 'progressToken' && !name.startsWith(PREFIX),
  );
  return { method, params: { ...others, ...(kept.length > 0 && { _meta: Object.fromEntries(kept) }) } };
}

/** The request of a server as a session of the legacy era has it, where a page to open has an id. */
export function toSessionRequest(request: UpstreamRequest): Required<UpstreamRequest> {
  const { method, params } = toInputRequest(request);
  const isPage = method === 'elicitation/create' && params?.['mode'] === 'url';
  const { elicitationId = newId() } = request.params ?? {};
  return { method, params: isPage ? { ...params, elicitationId } : params };
}

/** A client that names no mode has forms (MCP 2025-11-25, "Elicitation"). */
function modesOf(elicitation: Record<string, unknown>): Declared {
  const modes = declaredOf(elicitation, ['form', 'url']);
  return Object.keys(modes).length === 0 ? { form: {} } : modes;
}

function declaredOf(capability: Record<string, unknown>, names: readonly string[]): Declared {
  return Object.fromEntries(names.filter((name) => isRecord(capability[name])).map((name) => [name, {}]));
}
