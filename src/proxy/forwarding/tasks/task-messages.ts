import { isRecord } from '../../../core/is-record.js';

const RELATED_TASK = 'io.modelcontextprotocol/related-task';
const NOTIFICATIONS = 'notifications/tasks';

/**
 * The id of the task that an upstream created instead of answering a tool call (MCP 2025-11-25, "Tasks"; the extension
 * `io.modelcontextprotocol/tasks` of 2026-07-28).
 */
export function createdTask({ result }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isRecord(result)) return undefined;
  return taskIdOf(result['task']) ?? (result['resultType'] === 'task' ? taskIdOf(result) : undefined);
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
