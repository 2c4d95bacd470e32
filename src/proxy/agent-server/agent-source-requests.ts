import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../agents/composition/agent-composition.js';
import type { Source, ToolPlace } from '../../agents/composition/composition.js';
import type { Connection } from '../../connections/connection.js';
import { DomainError } from '../../core/domain-error.js';
import {
  refuseTask,
  isTaskRequest,
  deniedTask,
  requireTasksExtension,
  unknownTask,
  withTaskId,
} from '../forwarding/tasks/task-messages.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import { type McpRequestContext, pooledRoute, type PooledRoute, startRequest } from '../forwarding/upstream-router.js';
import { type InboundMessage, type InboundRequest, NAMED_BY } from '../protocol/inbound-message.js';
import { canAsk } from '../protocol/json-rpc-error.js';
import { namedHeaders, withArguments } from '../protocol/modern-headers.js';
import { ProxyCaller, credentialMissing } from '../protocol/proxy-caller.js';
import { withoutTasksExtension } from '../protocol/client-capabilities.js';
import { requireEnvelope } from '../translation/modern-envelope.js';
import { ModernRequestTranslator } from '../translation/modern-request-translator.js';
import { UpstreamEras } from '../translation/upstream-eras.js';
import { AgentPromptsAndResources } from './offering/agent-prompts-and-resources.js';
import { AgentToolRouter, type RoutedToolCall, renameTool } from './offering/agent-tool-router.js';
import { SealedTaskIds } from '../forwarding/tasks/sealed-task-ids.js';
import { sees } from './offering/agent-permissions.js';

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

type AgentRequest = McpRequestContext<InboundMessage, PooledRoute>;

/**
 * Forwards requests that concern one connection of an agent, so that an upstream can answer that it needs further
 * input. Those of modern clients (MCP 2026-07-28) are forwarded unchanged except for the upstream's own name.
 */
@Injectable()
export class AgentSourceRequests {
  constructor(
    private readonly tools: AgentToolRouter,
    private readonly tasks: AgentTaskRouter,
    private readonly offers: AgentPromptsAndResources,
    private readonly compositions: AgentComposition,
    private readonly modern: ModernRequestTranslator,
    private readonly requests: RequestForwarder,
    private readonly eras: UpstreamEras,
  ) {}

  /** Calls a tool for a modern client. @throws DomainError */
  async callTool(context: AgentRequest): Promise<void> {
    const { message, request } = context;
    // The upstream checks the envelope too, but only after this service has validated the arguments.
    if (message.kind === 'request') requireEnvelope(request.headers, message);
    await this.forward(this.tasks.offerTasks(await this.tools.route(context), context));
  }

  /**
   * Forwards a request of a modern client for a prompt or a resource, or about a task; false if it does not concern
   * exactly one connection.
   * @throws DomainError
   */
  async forwardToSource(context: McpRequestContext): Promise<boolean> {
    const { request, caller, message } = context;
    if (message.kind !== 'request' || caller.connection.status === 'inactive') return false;
    if (isTaskRequest(message)) {
      requireEnvelope(request.headers, message);
      await this.forward(await this.tasks.route({ ...context, message }));
      return true;
    }
    const target = await this.findTarget(caller, message);
    if (target === undefined) return false;
    await this.forward({ ...startRequest({ ...context, ...target }), taskIdFor: refuseTask });
    return true;
  }

  /**
   * Forwards a request for a prompt or a resource in a session whose client answers requests; false if it does not
   * concern exactly one connection, or one to an HTTP server that cannot ask by its results.
   * @throws DomainError
   */
  async forwardAskable(context: AgentRequest): Promise<boolean> {
    const { caller, message, route } = context;
    if (message.kind !== 'request' || !canAsk(message.method)) return false;
    const target = await this.findTarget(caller, message);
    if (target === undefined) return false;
    if (!(await this.asksInOwnSession(target.caller.connection, context))) return false;
    const toSource = pooledRoute(target.caller, target.message, route.session);
    await this.requests.forwardRequest(startRequest({ ...context, ...target, route: toSource }));
    return true;
  }

  /** True if the upstream asks in the session that the service opens with it. */
  private async asksInOwnSession(connection: Connection, { deadline }: McpRequestContext): Promise<boolean> {
    if (connection.type !== 'HTTP') return true;
    return this.eras.describeUpstream(connection, deadline.signal).then(
      (description) => description.isModern,
      // The agent's own MCP server reports why it cannot be reached.
      () => false,
    );
  }

  private async forward({ argumentHeaders, ...context }: RoutedToolCall): Promise<void> {
    const { request, taskIdFor } = context;
    const message = taskIdFor === refuseTask ? withoutTasksExtension(context.message) : context.message;
    const name = message.params[NAMED_BY.get(message.method) ?? 'name'];
    const named = namedHeaders(request.headers, String(name));
    const headers = argumentHeaders === undefined ? named : withArguments(named, argumentHeaders);
    await this.modern.forwardModernRequest({ ...context, message, route: { kind: 'stateless', headers } });
  }

  private async findTarget(
    caller: ProxyCaller,
    message: InboundRequest,
  ): Promise<Pick<McpRequestContext<InboundRequest>, 'caller' | 'message'> | undefined> {
    const { name, uri } = message.params;
    try {
      if (message.method === 'prompts/get' && typeof name === 'string') {
        const [source, upstreamName] = await this.offers.findPrompt(caller, await this.sourcesOf(caller), name);
        return { caller: callerOf(source, caller), message: renameTool(message, upstreamName) };
      }
      if (message.method !== 'resources/read' || typeof uri !== 'string') return undefined;
      const composition = await this.compositions.compositionOf(caller.connection);
      const { sources, uri: own } = await this.offers.findResource(caller, composition, uri);
      const [source, ...others] = sources;
      // The agent's own MCP server renames what is read under another address.
      if (source === undefined || others.length > 0 || own !== uri) return undefined;
      return { caller: callerOf(source, caller), message };
    } catch (error) {
      // The agent's own MCP server reports that it does not exist.
      if (error instanceof DomainError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  private async sourcesOf({ connection }: ProxyCaller): Promise<readonly Source[]> {
    return (await this.compositions.namesOf(connection)).sources;
  }
}

function callerOf({ connection }: Source, { principal, requestId }: ProxyCaller): ProxyCaller {
  return new ProxyCaller(principal, connection, requestId);
}
