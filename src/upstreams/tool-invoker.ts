import { Injectable } from '@nestjs/common';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { suggestionFor } from '../core/closest-name.js';
import { DomainError } from '../core/domain-error.js';
import { throughOutage } from '../core/retry.js';
import { type Connection, requireActive } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.js';
import { ArgumentChecker } from './arguments/argument-checker.js';
import { type ArgumentVerdict, refusalOf } from './arguments/argument-verdict.js';
import { ToolCatalog, ToolLister } from './catalog/tool-catalog.js';
import type { KnownTool } from './catalog/tool-list.js';
import {
  InvocationLog,
  type Invocation,
  outcomeOf,
  resultOf,
  SUCCESS,
  TOOL_FAILED,
  type ToolCall,
  type LimitPatience,
} from './invocation.js';
import { keyOfCaller, type ToolCaller } from './contract/callers.js';
import { ToolPins } from './pins/tool-pins.js';
import type { CallToolOptions, UpstreamTool } from './contract/upstream.js';
import { UpstreamError } from './contract/upstream-error.js';
import { UpstreamRequests } from './upstream-requests.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { refusalOf as refusalByLimits, type RateLimit, RateLimits } from '../platform/limits/rate-limits.js';

/** Counts tool calls against the limits of their connection, whatever entry point they come through. */
@Injectable()
export class ToolCallLimits {
  constructor(private readonly limits: RateLimits) {}

  /**
   * Counts a call of a connection that has limits, and tells `call.onLimited` which of them apply. A call with
   * `waitForLimit` waits that long for its turn.
   * @returns the error for a call over the limit
   */
  async count(call: ToolCall): Promise<DomainError | undefined> {
    const limits = limitsOf(call);
    if (call.waitForLimit !== undefined) return this.waitForTurn(call.waitForLimit, limits);
    const applied = await this.limits.count(limits);
    call.onLimited?.(applied);
    return refusalByLimits(applied);
  }

  /** Tries again when the windows end. Rejects with the reason of the signal. */
  private async waitForTurn(
    { patienceMs, signal }: LimitPatience,
    limits: readonly RateLimit[],
  ): Promise<DomainError | undefined> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const applied = await this.limits.count(limits);
      const refusal = refusalByLimits(applied);
      const left = deadline - performance.now();
      if (refusal === undefined || left <= 0) return refusal;
      const windowEnds = Math.max(...applied.map(({ verdict }) => (verdict.isAllowed ? 0 : verdict.endsInMs)));
      await sleep(Math.min(left, windowEnds + 1), undefined, signal && { signal }).catch(() =>
        signal?.throwIfAborted(),
      );
    }
  }
}

function limitsOf({ connection, caller }: ToolCall): RateLimit[] {
  const { id, rateLimit } = connection;
  const limits: RateLimit[] = [];
  if (rateLimit?.per_minute !== undefined) {
    limits.push({ name: 'connection', key: `connection:${id}`, perMinute: rateLimit.per_minute });
  }
  if (rateLimit?.per_caller_per_minute !== undefined) {
    const key = `connection:${id}:${callerOf(caller)}`;
    limits.push({ name: 'caller', key, perMinute: rateLimit.per_caller_per_minute });
  }
  return limits;
}

/** The person; for a key of the organization, the key; without a credential, the address. */
function callerOf({ userId, quotaKeyId, apiKeyId, address }: ToolCaller): string {
  return userId ?? quotaKeyId ?? apiKeyId ?? address ?? 'anonymous';
}

/**
 * Checks and records every call of an upstream's tool: `callTool` makes the service's own calls, such as those of runs,
 * and `admitCall` admits those that the proxy forwards. All pass the same steps: look the tool up → count against the
 * rate limits → active → permitted or public → arguments valid → definition approved → (inject → forward) → record.
 */
@Injectable()
export class ToolInvoker {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly lister: ToolLister,
    private readonly catalog: ToolCatalog,
    private readonly checker: ArgumentChecker,
    private readonly invocations: InvocationLog,
    private readonly requests: UpstreamRequests,
    private readonly limits: ToolCallLimits,
    private readonly pins: ToolPins,
  ) {}

  /**
   * Requests the upstream's tools, stores them as the last known ones, and returns those that the connection offers.
   * @throws DomainError `not_found` or `connection_unavailable`, UpstreamError
   */
  async listTools(organizationId: string, connectionId: string, userId: string | undefined): Promise<UpstreamTool[]> {
    return this.listNow(await this.directory.requireConnection(organizationId, connectionId, userId));
  }

  /**
   * Requests the upstream's tools, and returns this one; undefined if it is unknown, or cannot be listed.
   * @throws the signal's reason when it is aborted
   */
  async findDefinition(
    connection: Connection,
    toolName: string,
    signal: AbortSignal,
  ): Promise<UpstreamTool | undefined> {
    try {
      return (await this.listNow(connection, signal)).find(({ name }) => name === toolName);
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  private async listNow(connection: Connection, signal?: AbortSignal): Promise<UpstreamTool[]> {
    requireActive(connection);
    const tools = await this.lister.list(connection, signal);
    this.catalog.learn(connection, tools);
    if (connection.pin === 'off') return tools;
    const offered = await this.catalog.toolsOf(connection);
    return [...offered.tools.values()].map(({ definition }) => definition);
  }

  /** False if a call with these arguments would be refused because of them. */
  async acceptsArguments(connection: Connection, toolName: string, args: unknown): Promise<boolean> {
    try {
      const tool = (await this.catalog.toolsOf(connection)).tools.get(toolName);
      if (tool === undefined) return true;
      const verdict = await this.checkOf(connection, tool, args);
      return verdict.outcome !== 'unfit';
    } catch {
      return true;
    }
  }

  /**
   * Calls the tool, and returns the result as the upstream sent it; a failed tool is a result too (`isError`). Before
   * anything is sent, waits for a storage that is unavailable: nobody could tell later that the call was not made.
   * @throws what `admitCall` throws, UpstreamError, and StorageLostError
   */
  async callTool(
    call: ToolCall,
    { signal, onProgress, room }: Pick<CallToolOptions, 'signal' | 'onProgress' | 'room'> = {},
  ): Promise<CallToolResult> {
    const invocation = await throughOutage(() => this.admitCall(call), signal);
    try {
      const { toolName, connection, asTask } = call;
      const { requestId } = call.caller;
      const { traceHeaders } = invocation;
      const caller = keyOfCaller(call.caller);
      const options = { signal, onProgress, requestId, traceHeaders, asTask, room, caller };
      // `admitCall` has validated them against the schema, which is of type object (MCP, "Tool").
      const args = (call.args ?? {}) as Record<string, unknown>;
      const result = await this.requests.useUpstream(
        connection,
        (upstream) => upstream.callTool(toolName, args, options),
        { owner: call.owner, signal },
      );
      await invocation.settle(result.isError === true ? TOOL_FAILED : SUCCESS, result);
      return result;
    } catch (error) {
      const answer = error instanceof UpstreamError && error.rpc !== undefined ? { error: error.rpc } : {};
      await invocation.settle(outcomeOf(error), resultOf(answer));
      throw error;
    }
  }

  /**
   * Admits or refuses a call, and records it. The caller forwards an admitted call and then settles the invocation.
   * @throws DomainError `connection_unavailable`, `permission_denied`, `unknown_tool`, `invalid_arguments`,
   *   `tool_unapproved`, `tool_schema_invalid`, `rate_limited`, `storage_unavailable`; UpstreamError if the tools had
   *   to be listed
   */
  async admitCall(call: ToolCall): Promise<Invocation> {
    const startedAt = performance.now();
    const { connection } = call;
    const isPermitted = call.permitted(call.toolName);
    const found = await this.lookUp(call, isPermitted);
    const isPublic = !isPermitted && found.tool?.isPublic === true;
    const isKnownTool = found.tool !== undefined;
    const invocation = this.invocations.openInvocation(call, { isKnownTool, isPublic, startedAt });
    try {
      const isAdmitted = isPermitted || isPublic;
      // A caller without a credential is asked for one, which does not count.
      if (connection.rateLimit !== null && (isAdmitted || hasCredential(call.caller))) {
        const excess = await this.limits.count(call);
        if (excess !== undefined) throw excess;
      }
      requireActive(connection);
      if (!isAdmitted) throw denied();
      const refusal = call.refusalFor?.(found.tool) ?? refusalOf(await this.checkArguments(found, call));
      if (refusal !== undefined) throw refusal;
      if (connection.pin === 'block') await this.pins.requireApproved(connection, call.toolName);
      if (call.isUnapproved === true) throw new DomainError('permission_denied', 'The call needs an approval.');
      return invocation;
    } catch (error) {
      await invocation.settle(outcomeOf(error));
      throw error;
    }
  }

  /**
   * Finds the tool, or the reason why it is unknown. For a caller without permission, only a public mark matters. A
   * connection that blocks tools needs a list that is not outdated.
   */
  private async lookUp({ connection, toolName, sessionTools }: ToolCall, isPermitted: boolean): Promise<Found> {
    const mayBePublic = connection.publicTools === 'honor';
    if (connection.status === 'inactive' || !(isPermitted || mayBePublic)) return {};
    try {
      const session = isPermitted ? await sessionTools?.() : undefined;
      const own = session?.tools.get(toolName);
      if (own !== undefined) return { tool: own };
      // The shared list may show an approved definition of a tool whose definition in the session is not.
      if (session !== undefined && connection.pin === 'block') return { names: session.tools.keys() };
      // Without a permission, only the public mark decides.
      const isKnownEnough = isPermitted && connection.pin !== 'block';
      const known = await (isKnownEnough ? this.catalog.toolsOf(connection) : this.catalog.fresh(connection));
      const tool = known.tools.get(toolName);
      if (tool !== undefined || !isPermitted) return { tool };
      const { tools } = await this.catalog.recheck(connection);
      return { tool: tools.get(toolName), names: tools.keys() };
    } catch (fault) {
      return { fault };
    }
  }

  private async checkArguments(
    { tool, fault, names }: Found,
    { args = {}, connection, toolName, permitted }: ToolCall,
  ): Promise<ArgumentVerdict> {
    if (fault !== undefined) throw fault;
    if (tool === undefined) {
      if (connection.pin === 'block') await this.pins.requireApproved(connection, toolName);
      const suggestion = suggestionFor(toolName, [...(names ?? [])].filter(permitted));
      throw new DomainError('unknown_tool', `The connection has no tool with this name.${suggestion}`);
    }
    return this.checkOf(connection, tool, args);
  }

  private checkOf(
    { id, organizationId }: Connection,
    { inputSchema }: KnownTool,
    args: unknown,
  ): ArgumentVerdict | Promise<ArgumentVerdict> {
    return this.checker.validateArguments(inputSchema, args, id, organizationId);
  }
}

interface Found {
  readonly tool?: KnownTool | undefined;
  readonly fault?: unknown;
  /** All names that the connection has, if the tool is not among them. */
  readonly names?: Iterable<string>;
}

function hasCredential({ userId, apiKeyId }: ToolCaller): boolean {
  return (userId ?? apiKeyId ?? undefined) !== undefined;
}

function denied(): DomainError {
  return new DomainError('permission_denied', 'The caller is not permitted to call this tool of the connection.');
}
