import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import { type InboundRequest, readRequest } from '../../protocol/inbound-message.js';
import { namedHeaders } from '../../protocol/modern-headers.js';
import { credentialMissing, type ProxyCaller } from '../../protocol/proxy-caller.js';
import { withoutTasksExtension } from '../../protocol/client-capabilities.js';
import type { McpRequestContext } from '../upstream-router.js';
import { SealedTaskIds } from './sealed-task-ids.js';
import { refuseTask, deniedTask, isTaskRequest, requireTasksExtension, withTaskId, taskIdOf } from './task-messages.js';
import { isRecord, parseRecord } from '../../../core/is-record.js';
import { memberRange, withMember } from '../../../core/json/json-member.js';
import { dataOf, withData } from '../../../upstreams/messages/sse-parts.js';

/** The request for notifications of these tasks. All other bytes stay the same. */
function withSubscribedTasks({ body }: InboundRequest, taskIds: readonly string[]): InboundRequest {
  return readRequest(Buffer.from(withTaskIds(body.toString('utf8'), taskIds)));
}

/**
 * The event with the ids of tasks as the caller sees them; undefined if it is about another task.
 * @param seen the caller's ids by the upstream's
 */
function renameSubscribedTasks(event: Buffer, seen: ReadonlyMap<string, string>): Buffer | undefined {
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

/** The ids of tasks in `subscriptions/listen` (MCP 2026-07-28, tasks extension); undefined if it names none. */
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

/**
 * Binds the tasks of a connection's upstream to their makers (MCP 2026-07-28, tasks extension). The caller sees sealed
 * ids, and the upstream gets its own. Many servers do not tell the callers of a connection apart.
 */
@Injectable()
export class ConnectionTasks {
  constructor(
    private readonly ids: SealedTaskIds,
    private readonly catalog: ToolCatalog,
  ) {}

  /**
   * Returns the request as the upstream gets it, and how to rewrite its answer. Requests that do not concern tasks stay
   * as they are.
   * @throws DomainError `credential_missing`, `missing_capability`, `invalid_arguments`, `permission_denied`,
   * `unknown_method`
   */
  async bindTasks(context: McpRequestContext<InboundRequest>): Promise<McpRequestContext<InboundRequest>> {
    const { method } = context.message;
    if (method === 'tools/call') return this.offerTasks(context);
    if (method === 'subscriptions/listen') return this.subscribe(context);
    return method.startsWith('tasks/') ? this.forwardToTask(context) : context;
  }

  /** Nothing tells callers without a credential apart, so they get no tasks. */
  private offerTasks(context: McpRequestContext<InboundRequest>): McpRequestContext<InboundRequest> {
    const { caller, message } = context;
    if (caller.principal === undefined) {
      return { ...context, message: withoutTasksExtension(message), taskIdFor: refuseTask };
    }
    const place = { connectionId: caller.connection.id, tool: String(message.params['name']) };
    return { ...context, taskIdFor: (taskId) => this.ids.seal(caller, { ...place, taskId }) };
  }

  private async forwardToTask(context: McpRequestContext<InboundRequest>): Promise<McpRequestContext<InboundRequest>> {
    const { caller, message, request } = context;
    if (caller.principal === undefined) throw credentialMissing();
    if (!isTaskRequest(message)) {
      throw new DomainError('unknown_method', 'This protocol revision does not have this method.');
    }
    requireTasksExtension(message);
    const { taskId: seen } = message.params;
    const { tool, taskId } = this.ids.open(caller, seen);
    if (!(await this.mayCall(caller, tool))) throw deniedTask();
    const headers = namedHeaders(request.headers, taskId);
    return {
      ...context,
      message: withTaskId(message, taskId),
      route: { kind: 'stateless', headers },
      taskIdFor: () => String(seen),
    };
  }

  /** Subscribes to the caller's own tasks only. An upstream acknowledges the tasks of which it sends notifications. */
  private async subscribe(context: McpRequestContext<InboundRequest>): Promise<McpRequestContext<InboundRequest>> {
    const { caller, message } = context;
    const seen = new Map<string, string>();
    const requested = taskIdsIn(message.params);
    for (const id of requested ?? []) {
      const place = this.ids.find(caller, id);
      if (place !== undefined && (await this.mayCall(caller, place.tool))) seen.set(place.taskId, id);
    }
    return {
      ...context,
      message: requested === undefined ? message : withSubscribedTasks(message, [...seen.keys()]),
      route: { kind: 'stateless', rewriteEvent: (event) => renameSubscribedTasks(event, seen) },
    };
  }

  private async mayCall(caller: ProxyCaller, tool: string): Promise<boolean> {
    const { connection } = caller;
    if (caller.mayCall(tool)) return true;
    if (connection.publicTools !== 'honor') return false;
    const list = await Promise.resolve(this.catalog.toolsOf(connection)).catch(() => undefined);
    return list?.tools.get(tool)?.isPublic === true;
  }
}
