import { isRecord } from '../../core/is-record.js';
import {
  clientCapabilitiesOf,
  type InboundMessage,
  CLIENT_CAPABILITIES,
  type InboundRequest,
  withoutMemberOf,
} from './inbound-message.js';
import type { FastifyRequest } from 'fastify';

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
const ADDED = ['requestState', 'inputResponses'];

/** The request as the client sent it at first; all other bytes stay the same. */
export function withoutInputResponses(message: InboundRequest): InboundRequest {
  const added = ADDED.filter((name) => Object.hasOwn(message.params, name));
  return added.reduce((request, name) => withoutMemberOf(request, ['params'], name), message);
}
