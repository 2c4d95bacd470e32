import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import {
  type Composition,
  connectionOf,
  type ToolPlace,
  isForModels,
  placesForModels,
} from '../../../agents/composition/composition.js';
import {
  refusalOfChange,
  fillRequestText,
  refusalOfArguments,
  type ToolDressing,
} from '../../../agents/dressing/tool-dressing.js';
import { suggestionFor } from '../../../core/closest-name.js';
import { DomainError } from '../../../core/domain-error.js';
import { toDomainError } from '../../../core/to-domain-error.js';
import { connectionFor, type Connection, requireActive } from '../../../connections/connection.js';
import { ConnectionDirectory } from '../../../connections/connection-directory.js';
import { outcomeOf, InvocationLog, type ToolCall } from '../../../upstreams/invocation.js';
import {
  type InboundMessage,
  type InboundRequest,
  readRequest,
  ARGUMENT_HEADER,
} from '../../protocol/inbound-message.js';
import {
  type McpRequestContext,
  pooledRoute,
  type PooledRoute,
  startRequest,
} from '../../forwarding/upstream-router.js';
import { refuseTask } from '../../forwarding/tasks/task-messages.js';
import { credentialMissing, ProxyCaller } from '../../protocol/proxy-caller.js';
import { NO_SIGN_IN_NEEDED, SIGN_IN } from '../../protocol/sign-in-tool.js';
import { withoutTaskParameter } from '../../protocol/client-capabilities.js';
import { CALL_TOOL } from '../../../agents/composition/tool-naming.js';
import { agentCallOf } from '../agent-call.js';
import { holdsAny, isOpen, mayCall } from './agent-permissions.js';
import { hindranceFor } from './agent-tool-list.js';
import { isTaskOnly } from '../../../upstreams/contract/tool-task.js';
import { isRecord } from '../../../core/is-record.js';
import { requireToolCall } from '../../../agents/search/search-tools.js';
import { memberRange } from '../../../core/json/json-member.js';

export interface RoutedToolCall extends McpRequestContext<InboundRequest> {
  /** Replace the client's headers that repeat arguments; absent if the upstream gets the client's arguments. */
  readonly argumentHeaders?: Readonly<Record<string, string>>;
}

/**
 * Finds the connection and the tool behind a composed name. `ToolInvoker` decides whether the caller is permitted to
 * call it.
 */
@Injectable()
export class AgentToolRouter {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly directory: ConnectionDirectory,
    private readonly invocations: InvocationLog,
  ) {}

  /**
   * Returns the tool call for the tool's connection, which cannot be answered with a task. Records a refused call;
   * `ToolInvoker` records all others.
   * @param compose returns the agent's composition for this caller
   * @throws DomainError `invalid_rpc_request`, `connection_unavailable`, `unknown_tool`, `permission_denied` or
   * `credential_missing`
   */
  async route(
    context: McpRequestContext<InboundMessage, PooledRoute>,
    compose = () => this.compositions.compositionOf(context.caller.connection),
  ): Promise<RoutedToolCall> {
    const { caller, message } = context;
    const { name } = message.params;
    if (message.kind !== 'request' || typeof name !== 'string' || name === '') {
      throw new DomainError('invalid_rpc_request', '`params.name` must be the name of a tool.');
    }
    const startedAt = performance.now();
    let call = message;
    try {
      requireActive(caller.connection);
      const composition = await compose();
      if (name === CALL_TOOL && composition.toolMode !== 'all') call = callWithin(message);
      const place = placeOf(call, caller, composition);
      // Models make these calls.
      if (call !== message && !isForModels(place)) throw unknownTool(caller, place.name);
      const { dressing, upstreamName, tool } = place;
      const { arguments: args = {} } = call.params;
      const refusal = dressing && refusalOfArguments(dressing, args);
      const toolCaller = await this.callerOf(caller, place, refusal);
      const filled = dressing === undefined || refusal ? call : fillRequest(call, dressing);
      const sent = renameTool(withoutTaskParameter(filled), upstreamName);
      const route = pooledRoute(toolCaller, sent, context.route.session);
      const routed = {
        ...startRequest({ ...context, caller: toolCaller, message: sent, route }),
        taskIdFor: refuseTask,
      };
      // Clients know neither fixed arguments nor the headers of tools that they have not listed.
      if (dressing === undefined && call === message) return routed;
      const { inputSchema } = dressing?.upstreamDefinition ?? tool?.definition ?? {};
      return { ...routed, argumentHeaders: mirroredArguments(inputSchema, filled.params['arguments']) };
    } catch (error) {
      const refusal = await this.recordRefusal(toDomainError(error), { ...context, message: call }, startedAt);
      // For `call_tool`, the name is an argument, which a model can correct.
      const isWrongName = call !== message && refusal.code === 'unknown_tool';
      throw isWrongName ? new DomainError('invalid_arguments', refusal.message) : refusal;
    }
  }

  /**
   * The agent's caller as a caller of one tool's connection, and of nothing else of it.
   * @param refusal of the call's arguments
   * @throws DomainError `unknown_tool` or `permission_denied` if the connection has been deleted
   */
  async callerOf(caller: ProxyCaller, place: ToolPlace, refusal?: DomainError): Promise<ProxyCaller> {
    const { organizationId } = caller.connection;
    const connection = await this.directory.findConnection(organizationId, place.connection.id);
    if (connection === undefined) throw unknownTool(caller, place.name);
    const bound = connectionFor(connection, caller.principal?.userId);
    return new AgentToolCaller(caller, place, connectionOf(place, bound), refusal);
  }

  /** @param startedAt on the monotonic clock, in milliseconds */
  private async recordRefusal(error: DomainError, context: McpRequestContext, startedAt: number): Promise<DomainError> {
    const { caller, message } = context;
    const call = agentCallOf(context, String(message.params['name']), message.params['arguments']);
    const invocation = this.invocations.openInvocation(call, { isKnownTool: false, isPublic: false, startedAt });
    await invocation.settle(outcomeOf(error));
    const isAnonymous = caller.principal === undefined && error.code === 'permission_denied';
    return isAnonymous ? credentialMissing() : error;
  }
}

function placeOf({ params }: InboundRequest, caller: ProxyCaller, composition: Composition): ToolPlace {
  const name = String(params['name']);
  const place = composition.places.get(name);
  if (place === undefined) throw absentTool(caller, name, composition);
  return place;
}

/** Until a person has signed in, tools can be absent for that reason, and a stand-in is listed if all of them are. */
function absentTool(caller: ProxyCaller, name: string, composition: Composition): DomainError {
  const { sources, unavailable } = composition;
  const hindrance = hindranceFor(caller, unavailable);
  if (name !== SIGN_IN) {
    // Models misspell names; apps do not.
    const known = placesForModels(composition).map((place) => place.name);
    return unknownTool(caller, name, known, hindrance);
  }
  const hadStandIn = holdsAny(caller, sources) && sources.some(({ connection }) => connection.oauth !== null);
  return hindrance ?? (hadStandIn ? new DomainError('unknown_tool', NO_SIGN_IN_NEEDED) : unknownTool(caller, name));
}

/** A caller who would not be permitted to call the tool gets the same error whether or not it exists. */
function unknownTool(
  caller: ProxyCaller,
  name: string,
  known: readonly string[] = [],
  hindrance?: DomainError,
): DomainError {
  const similar = suggestionFor(
    name,
    known.filter((one) => caller.mayCall(one)),
  );
  const suggestion = hindrance === undefined ? similar : `${similar} ${hindrance.message}`;
  return caller.mayCall(name)
    ? new DomainError('unknown_tool', `The agent has no tool with this name.${suggestion}`)
    : new DomainError('permission_denied', 'The caller is not permitted to call this tool of the agent.');
}

/** A caller of one tool of a connection through an agent. */
class AgentToolCaller extends ProxyCaller {
  /** @param connection the tool's current connection */
  constructor(
    private readonly agentCaller: ProxyCaller,
    private readonly place: ToolPlace,
    connection: Connection,
    private readonly argumentRefusal?: DomainError,
  ) {
    // A tool that the agent does not publish is not public through it, even if the connection publishes it.
    const isPublic = isOpen(agentCaller, place) || mayCall(agentCaller, place);
    super(
      agentCaller.principal,
      isPublic ? connection : { ...connection, publicTools: 'ignore' },
      agentCaller.requestId,
    );
  }

  override get agentId(): string {
    return this.agentCaller.connection.id;
  }

  override get refusalFor(): ToolCall['refusalFor'] {
    const { dressing } = this.place;
    return dressing && ((tool) => this.argumentRefusal ?? refusalOfChange(dressing, tool));
  }

  /** An agent has no tasks, so that any client can call its tools. */
  override get callsAsTask(): boolean {
    return isTaskOnly(this.place.tool?.definition);
  }

  /** Permits this tool only, and nothing else of the connection. */
  override mayCall(tool: string): boolean {
    return tool === this.place.upstreamName && mayCall(this.agentCaller, this.place);
  }
}

/** The request with the fixed arguments put in. Only their bytes change. */
function fillRequest({ body }: InboundRequest, dressing: ToolDressing): InboundRequest {
  return readRequest(Buffer.from(fillRequestText(dressing, body.toString('utf8'))));
}

/** A field name (RFC 9110, section 5.1): it comes from the upstream. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * The headers that repeat arguments of a tool (MCP 2026-07-28, `x-mcp-header`), in lower case, with values that are not
 * encoded yet.
 * @param schema of the tool's arguments, unchecked
 */
export function mirroredArguments(schema: unknown, args: unknown): Record<string, string> {
  if (!isRecord(schema) || !isRecord(schema['properties']) || !isRecord(args)) return {};
  const headers: Record<string, string> = {};
  for (const [name, property] of Object.entries(schema['properties'])) {
    const header = isRecord(property) ? property['x-mcp-header'] : undefined;
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (isRecord(value)) Object.assign(headers, mirroredArguments(property, value));
    else if (typeof header === 'string' && TOKEN.test(header) && isRepeated(value)) {
      headers[ARGUMENT_HEADER + header.toLowerCase()] = String(value);
    }
  }
  return headers;
}

function isRepeated(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value);
}

/**
 * Returns the request with another tool name. Only the bytes of the name change.
 * @throws Error for a request without `params.name`
 */
export function renameTool(request: InboundRequest, newName: string): InboundRequest {
  const { nameRange, body, params, idStart, idEnd } = request;
  if (params['name'] === newName) return request;
  if (nameRange === undefined) throw new Error('The position of the tool name is not known.');
  const name = Buffer.from(JSON.stringify(newName));
  const { start, end } = nameRange;
  const growth = name.length - (end - start);
  const isIdAfter = idStart > start;
  return {
    ...request,
    body: Buffer.concat([body.subarray(0, start), name, body.subarray(end)]),
    params: { ...params, name: newName },
    nameRange: { start, end: start + name.length },
    idStart: isIdAfter ? idStart + growth : idStart,
    idEnd: isIdAfter ? idEnd + growth : idEnd,
  };
}

/**
 * The call that a call of `call_tool` stands for: with the name and the bytes of the arguments that it holds, and
 * otherwise byte for byte the same. It is read as if it were sent so.
 * @throws DomainError `invalid_arguments`, `invalid_rpc_request`
 */
export function callWithin(message: InboundRequest): InboundRequest {
  const { name } = requireToolCall(message.params['arguments']);
  const text = renameTool(message, name).body.toString('utf8');
  const params = memberRange(text, 0, 'params');
  const outer = params && memberRange(text, params.start, 'arguments');
  if (outer === undefined) throw new Error('Checked arguments must be in the body.');
  const inner = memberRange(text, outer.start, 'arguments');
  const args = inner === undefined ? '{}' : text.slice(inner.start, inner.end);
  return readRequest(Buffer.from(text.slice(0, outer.start) + args + text.slice(outer.end)));
}
