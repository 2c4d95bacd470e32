import { isRecord } from '../../core/is-record.js';
import { CLIENT_CAPABILITIES, type InboundRequest, withoutMemberOf } from './inbound-message.js';

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
