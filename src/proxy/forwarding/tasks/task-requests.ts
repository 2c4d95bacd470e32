import { DomainError } from '../../../core/domain-error.js';
import { memberRange, withMember } from '../../../core/json/json-member.js';
import { type InboundRequest, readRequest } from '../../protocol/inbound-message.js';
import { declaresTasks, TASKS_EXTENSION } from '../../protocol/client-capabilities.js';

/** The requests about a task (MCP 2026-07-28, tasks extension). */
const METHODS: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);

/** True for a request of the modern era about a task. */
export function isTaskRequest({ method }: InboundRequest): boolean {
  return METHODS.has(method);
}

/**
 * Checks whether the client of a request about a task declares the extension. Servers refuse others whatever the task.
 * @throws DomainError `missing_capability`
 */
export function requireTasksExtension(message: InboundRequest): void {
  if (declaresTasks(message)) return;
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
  throw new DomainError('missing_capability', `The client must declare ${TASKS_EXTENSION}.`, undefined, { data });
}

/** The request about the task with this id. All other bytes stay the same. */
export function withTaskId({ body }: InboundRequest, taskId: string): InboundRequest {
  const text = body.toString('utf8');
  const params = memberRange(text, 0, 'params');
  if (params === undefined) throw new Error('A request about a task must have parameters.');
  return readRequest(Buffer.from(withMember(text, params.start, 'taskId', JSON.stringify(taskId))));
}

export function deniedTask(): DomainError {
  return new DomainError('permission_denied', 'The caller is not permitted to call the tool of this task.');
}

/** A client would take a 404 for a lost session. */
export function unknownTask(): DomainError {
  return new DomainError('invalid_arguments', 'The caller has no task with this id.');
}
