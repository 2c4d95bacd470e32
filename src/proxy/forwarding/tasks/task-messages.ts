import { isRecord } from '../../../core/is-record.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { memberRange, withMember } from '../../../core/json/json-member.js';
import { DomainError } from '../../../core/domain-error.js';
import { type InboundRequest, readRequest } from '../../protocol/inbound-message.js';
import { declaresTasks, TASKS_EXTENSION } from '../../protocol/client-capabilities.js';

const RELATED_TASK = 'io.modelcontextprotocol/related-task';
const NOTIFICATIONS = 'notifications/tasks';

/**
 * Maps an upstream's id of a task to the one that the caller sees.
 * @throws UpstreamError if the caller gets no tasks
 */
export type TaskIdMapping = (taskId: string) => string;

/** For a caller who could not route requests to the task. */
export const refuseTask: TaskIdMapping = () => {
  throw new UpstreamError('protocol', 'The upstream answered with a task, which was not asked for.');
};

/** What the answer to a request says of a task. */
interface AnsweredTask {
  readonly taskIdFor?: TaskIdMapping | undefined;
  /** True if the request was about a task. Otherwise its answer can only create one. */
  readonly isOfTask: boolean;
}

/**
 * The id of the task that an upstream created instead of answering a tool call (MCP 2025-11-25, "Tasks"; the extension
 * `io.modelcontextprotocol/tasks` of 2026-07-28).
 */
export function createdTask({ result }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isRecord(result)) return undefined;
  return taskIdOf(result['task']) ?? (result['resultType'] === 'task' ? taskIdOf(result) : undefined);
}

/**
 * The answer with the id of its task as the caller sees it. All other bytes stay the same.
 * @param text of the message
 * @throws UpstreamError if the caller gets no tasks
 */
export function renameTask(
  text: string,
  message: Readonly<Record<string, unknown>>,
  { taskIdFor, isOfTask }: AnsweredTask,
): string {
  const { result } = message;
  if (taskIdFor === undefined || !isRecord(result)) return text;
  const id = createdTask(message) ?? (isOfTask ? taskIdOf(result) : undefined);
  if (id === undefined) return text;
  const seen = JSON.stringify(taskIdFor(id));
  const outer = memberRange(text, 0, 'result');
  const inner = outer && memberRange(text, outer.start, 'task');
  const holder = taskIdOf(result['task']) === undefined ? outer : inner;
  return holder === undefined ? text : withMember(text, holder.start, 'taskId', seen);
}

/** The task that a notification or a request of an upstream is about. */
export function concernedTask({ method, params }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isRecord(params)) return undefined;
  const isAboutTask = typeof method === 'string' && method.startsWith(NOTIFICATIONS);
  const { _meta: meta } = params;
  return (isAboutTask ? taskIdOf(params) : undefined) ?? (isRecord(meta) ? taskIdOf(meta[RELATED_TASK]) : undefined);
}

/** Removes other callers' tasks from the answer to `tasks/list`. @param result is modified */
export function filterTaskList(result: unknown, isOwn: (taskId: string) => boolean): void {
  if (!isRecord(result) || result['tasks'] === undefined) return;
  const listed: readonly unknown[] = Array.isArray(result['tasks']) ? result['tasks'] : [];
  result['tasks'] = listed.filter((task) => {
    const id = taskIdOf(task);
    return id !== undefined && isOwn(id);
  });
}

export function taskIdOf(value: unknown): string | undefined {
  const id = isRecord(value) ? value['taskId'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

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
