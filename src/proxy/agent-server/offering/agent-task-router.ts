import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import type { ToolPlace } from '../../../agents/composition/composition.js';
import { DomainError } from '../../../core/domain-error.js';
import { SealedTaskIds } from '../../forwarding/tasks/sealed-task-ids.js';
import { deniedTask, requireTasksExtension, unknownTask, withTaskId } from '../../forwarding/tasks/task-messages.js';
import { type McpRequestContext, startRequest } from '../../forwarding/upstream-router.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { credentialMissing } from '../../protocol/proxy-caller.js';
import { sees } from './agent-permissions.js';
import { AgentToolRouter, type RoutedToolCall } from './agent-tool-router.js';

/**
 * Composes the tasks of an agent's upstreams. The id of a task that a caller sees names its connection, and is sealed
 * for the caller.
 */
@Injectable()
export class AgentTaskRouter {
  constructor(
    private readonly ids: SealedTaskIds,
    private readonly tools: AgentToolRouter,
    private readonly compositions: AgentComposition,
  ) {}

  /**
   * Lets the upstream answer a tool call with a task, unless the caller has no credential: nothing tells such a caller
   * from others.
   * @param call for the tool's connection
   * @param caller of the agent
   */
  offerTasks(call: RoutedToolCall, { caller }: McpRequestContext): RoutedToolCall {
    if (caller.principal === undefined) return call;
    const place = { connectionId: call.caller.connection.id, tool: String(call.message.params['name']) };
    return { ...call, taskIdFor: (taskId) => this.ids.seal(caller, { ...place, taskId }) };
  }

  /**
   * Returns the request about a task for the task's connection.
   * @throws DomainError `credential_missing`, `missing_capability`, `invalid_arguments`, `permission_denied`,
   * `connection_unavailable`
   */
  async route(context: McpRequestContext<InboundRequest>): Promise<McpRequestContext<InboundRequest>> {
    const { caller, message } = context;
    if (caller.principal === undefined) throw credentialMissing();
    requireTasksExtension(message);
    const { taskId: seen } = message.params;
    const { connectionId, tool, taskId } = this.ids.open(caller, seen);
    const { places, unavailable } = await this.compositions.compositionOf(caller.connection);
    const isOfTask = (place: ToolPlace): boolean => place.connection.id === connectionId && place.upstreamName === tool;
    const candidates = [...places.values()].filter(isOfTask);
    const permitted = candidates.find((place) => sees(caller, place));
    if (permitted === undefined) {
      if (candidates.length > 0) throw deniedTask();
      const hindrance = unavailable.find((member) => member.connectionId === connectionId);
      throw hindrance === undefined ? unknownTask() : new DomainError('connection_unavailable', hindrance.reason);
    }
    const toolCaller = await this.tools.callerOf(caller, permitted);
    const started = startRequest({ ...context, caller: toolCaller, message: withTaskId(message, taskId) });
    return { ...started, taskIdFor: () => String(seen) };
  }
}
