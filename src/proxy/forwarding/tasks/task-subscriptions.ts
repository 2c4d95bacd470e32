import { isRecord, parseRecord } from '../../../core/is-record.js';
import { memberRange, withMember } from '../../../core/json/json-member.js';
import { dataOf, withData } from '../../../upstreams/messages/sse-parts.js';
import { type InboundRequest, readRequest } from '../../protocol/inbound-message.js';
import { taskIdOf } from './task-messages.js';

/** The ids of tasks in `subscriptions/listen` (MCP 2026-07-28, tasks extension); undefined if it names none. */
export function subscribedTasks({ params }: InboundRequest): readonly string[] | undefined {
  return taskIdsIn(params);
}

/** The request for notifications of these tasks. All other bytes stay the same. */
export function withSubscribedTasks({ body }: InboundRequest, taskIds: readonly string[]): InboundRequest {
  return readRequest(Buffer.from(withTaskIds(body.toString('utf8'), taskIds)));
}

/**
 * The event with the ids of tasks as the caller sees them; undefined if it is about another task.
 * @param seen the caller's ids by the upstream's
 */
export function renameSubscribedTasks(event: Buffer, seen: ReadonlyMap<string, string>): Buffer | undefined {
  const data = dataOf(event);
  const message = parseRecord(data ?? '');
  if (data === undefined || message === undefined) return event;
  const { method, params } = message;
  if (method === 'notifications/tasks') {
    const id = seen.get(taskIdOf(params) ?? '');
    const range = memberRange(data, 0, 'params');
    if (id === undefined || range === undefined) return undefined;
    return withData(event, withMember(data, range.start, 'taskId', JSON.stringify(id)));
  }
  const acknowledged = isRecord(params) ? taskIdsIn(params) : undefined;
  if (acknowledged === undefined) return event;
  const ids = acknowledged.flatMap((id) => seen.get(id) ?? []);
  return withData(event, withTaskIds(data, ids));
}

function taskIdsIn({ notifications }: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const ids = isRecord(notifications) ? notifications['taskIds'] : undefined;
  return ids === undefined ? undefined : [ids].flat().filter((id) => typeof id === 'string');
}

function withTaskIds(text: string, taskIds: readonly string[]): string {
  const params = memberRange(text, 0, 'params');
  const notifications = params && memberRange(text, params.start, 'notifications');
  if (notifications === undefined) throw new Error('The message must have the ids that are replaced.');
  return withMember(text, notifications.start, 'taskIds', JSON.stringify(taskIds));
}
