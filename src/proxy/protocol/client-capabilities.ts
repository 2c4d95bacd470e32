import { isRecord } from '../../core/is-record.js';
import {
  clientCapabilitiesOf,
  type InboundMessage,
  CLIENT_CAPABILITIES,
  type InboundRequest,
  withoutMemberOf,
} from './inbound-message.js';
import type { FastifyRequest } from 'fastify';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import { newId } from '../../core/ids.js';
import type { UpstreamRequest } from '../../upstreams/contract/upstream-request.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the request, or the one that opened its session, declares `elicitation.url`. */
    hasUrlElicitation?: boolean;
    /** Set when the client of the request declared the extension MCP Apps: it shows no model the tools for apps. */
    hasApps?: true;
  }
}

const APPS = 'io.modelcontextprotocol/ui';

/** True if the message declares that its client supports the extension MCP Apps. */
export function declaresApps(message: Pick<InboundMessage, 'params'>): boolean {
  const capabilities = clientCapabilitiesOf(message);
  const extensions = isRecord(capabilities) ? capabilities['extensions'] : undefined;
  return isRecord(extensions) && isRecord(extensions[APPS]);
}

/** True if the message declares that its client asks people to open URLs (MCP 2025-11-25, "URL Mode Elicitation"). */
export function declaresUrlElicitation(message: Pick<InboundMessage, 'params'>): boolean {
  const capabilities = clientCapabilitiesOf(message);
  return (
    isRecord(capabilities) && isRecord(capabilities['elicitation']) && isRecord(capabilities['elicitation']['url'])
  );
}

/** True if the client of this request asks people to open URLs. */
export function hasUrlElicitation(request: FastifyRequest, message: Pick<InboundMessage, 'params'>): boolean {
  return request.hasUrlElicitation === true || declaresUrlElicitation(message);
}

/** The extension with which a server may answer a tool call with a task (MCP 2026-07-28). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The request without the parameter that asks for a task (MCP 2025-11-25). All other bytes stay the same. */
export function withoutTaskParameter(message: InboundRequest): InboundRequest {
  return message.params['task'] === undefined ? message : withoutMemberOf(message, ['params'], 'task');
}

const EXTENSIONS = ['_meta', CLIENT_CAPABILITIES, 'extensions'];

/** True if the client of the modern era declares the extension. */
export function declaresTasks({ params }: InboundRequest): boolean {
  const declared = EXTENSIONS.reduce<unknown>((value, name) => (isRecord(value) ? value[name] : undefined), params);
  return isRecord(declared) && Object.hasOwn(declared, TASKS_EXTENSION);
}

/** The request of a client that does not declare the extension. All other bytes stay the same. */
export function withoutTasksExtension(message: InboundRequest): InboundRequest {
  return declaresTasks(message) ? withoutMemberOf(message, ['params', ...EXTENSIONS], TASKS_EXTENSION) : message;
}

/** The members that a client adds when it repeats a request (MCP 2026-07-28, "Multi Round-Trip Requests"). */
const ADDED_BY_RETRY = ['requestState', 'inputResponses'];

/** The request as the client sent it at first; all other bytes stay the same. */
export function withoutInputResponses(message: InboundRequest): InboundRequest {
  const added = ADDED_BY_RETRY.filter((name) => Object.hasOwn(message.params, name));
  return added.reduce((request, name) => withoutMemberOf(request, ['params'], name), message);
}

const EXTENSION_PREFIX = 'io.modelcontextprotocol/';

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
    ([name]) => name !== 'progressToken' && !name.startsWith(EXTENSION_PREFIX),
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
