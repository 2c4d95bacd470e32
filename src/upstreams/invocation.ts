import { Injectable } from '@nestjs/common';
import { type AuditEntry, AuditLog } from '../audit/calls/audit-log.js';
import type { AuditStatus, EntryPoint } from '../audit/calls/audit-record.js';
import { isObject } from '../core/is-record.js';
import { toDomainError } from '../core/to-domain-error.js';
import { type MeasuredCall, ProxyTelemetry } from '../platform/telemetry/proxy-telemetry.js';
import { UpstreamError } from './contract/upstream-error.js';
import type { DomainError } from '../core/domain-error.js';
import type { Connection } from '../connections/connection.js';
import type { AppliedLimit } from '../platform/limits/rate-limits.js';
import type { StateOwner, ToolCaller } from './contract/callers.js';
import type { KnownTool, ToolList } from './catalog/tool-list.js';

/** The outcome of a tool call; a failure has a stable code. */
export interface InvocationOutcome {
  readonly status: AuditStatus;
  readonly errorCode: string | null;
}

export const SUCCESS: InvocationOutcome = { status: 'success', errorCode: null };
/** The tool itself reports that it failed (`isError`), or the upstream answered with a JSON-RPC error. */
export const TOOL_FAILED: InvocationOutcome = { status: 'error', errorCode: 'tool_error' };

/** A tool call that was opened: the headers of its upstream request, and how to report its outcome. */
export class Invocation {
  private settled: Promise<void> | undefined;

  constructor(
    private readonly entry: AuditEntry,
    private readonly measured: MeasuredCall,
    private readonly startedAt: number,
  ) {}

  /** W3C trace context for the request upstream. */
  get traceHeaders(): Readonly<Record<string, string>> {
    return this.measured.headers;
  }

  /**
   * Measures and records the end of the call; only the first call counts. Resolves when the record is in the database.
   * @param result the result, if there is one and it was buffered; recorded only if the connection enables it
   * @throws DomainError `storage_unavailable`
   */
  settle(outcome: InvocationOutcome, result?: unknown): Promise<void> {
    this.settled ??= this.record(outcome, result);
    return this.settled;
  }

  private record({ status, errorCode }: InvocationOutcome, result: unknown): Promise<void> {
    // The caller waits for the record, so start it first.
    const stored = this.entry.close({ status, errorCode, durationMs: performance.now() - this.startedAt, result });
    this.measured.end({ status: status === 'success' ? 'success' : 'error', errorCode: errorCode ?? undefined });
    return stored;
  }
}

/** The outcome of a call that failed with this error. */
export function outcomeOf(error: unknown): InvocationOutcome {
  if (error instanceof UpstreamError) {
    return { status: 'error', errorCode: error.kind === 'rpc' ? 'tool_error' : `upstream_${error.kind}` };
  }
  const { code } = toDomainError(error);
  return { status: code === 'permission_denied' ? 'denied' : 'error', errorCode: code };
}

/** The recorded result of a JSON-RPC message: its result, or its error's code and message. */
export function resultOf({ result, error }: { readonly result?: unknown; readonly error?: unknown }): unknown {
  if (error === undefined) return result;
  return { error: isObject(error) ? { code: error['code'], message: error['message'] } : error };
}

/** A tool call as far as it is recorded and measured. */
type RecordedCall = Omit<ToolCall, 'owner' | 'permitted' | 'sessionTools'>;

/** What is known of a call when it is admitted or refused. */
interface CallFindings {
  /**
   * True if a tool with this name exists. Callers can invent any number of names, which must not become metric labels.
   */
  readonly isKnownTool: boolean;
  /** True if the call is permitted because the tool is public. */
  readonly isPublic: boolean;
  /** On the monotonic clock, in milliseconds. */
  readonly startedAt: number;
}

/** Opens the audit entry and the measurement of tool calls. */
@Injectable()
export class InvocationLog {
  constructor(
    private readonly audit: AuditLog,
    private readonly telemetry: ProxyTelemetry,
  ) {}

  /** Always settle the invocation: only then is the call recorded. */
  openInvocation(call: RecordedCall, { isKnownTool, isPublic, startedAt }: CallFindings): Invocation {
    const { connection, caller, toolName, entryPoint, agentId = null } = call;
    const entry = this.audit.openEntry({
      organizationId: connection.organizationId,
      entryPoint,
      connectionId: connection.id,
      agentId,
      toolName,
      userId: caller.userId ?? null,
      apiKeyId: caller.apiKeyId ?? null,
      runId: caller.runId ?? null,
      requestId: caller.requestId,
      public: isPublic,
      content: connection.auditContent ? { arguments: call.args } : undefined,
    });
    const measured = this.telemetry.begin({
      connectionId: connection.id,
      toolName,
      toolLabel: isKnownTool ? toolName : 'other',
      method: 'tools/call',
      requestId: caller.requestId,
      streamable: call.streamable ?? false,
      incoming: call.trace ?? {},
      isOwn: entryPoint === 'run',
    });
    return new Invocation(entry, measured, startedAt);
  }
}

/** How long a call waits for its turn. */
export interface LimitPatience {
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A call of an upstream's tool, with everything that `ToolInvoker` needs to check it. */
export interface ToolCall {
  readonly connection: Connection;
  /** The upstream's own name of the tool. */
  readonly toolName: string;
  readonly args: unknown;
  /**
   * Why the call is refused, whatever the tool's schema says of its arguments.
   * @param tool as it is now; undefined if it is unknown
   */
  readonly refusalFor?: ((tool: KnownTool | undefined) => DomainError | undefined) | undefined;
  readonly caller: ToolCaller;
  /** Who has a session of its own with an upstream that has state; absent: the shared one is used. */
  readonly owner?: StateOwner;
  readonly entryPoint: EntryPoint;
  /** The agent whose composition the call came through. */
  readonly agentId?: string;
  /** True if the caller is permitted to call this tool of the connection. A public tool needs no permission. */
  readonly permitted: (toolName: string) => boolean;
  /** The call needs an approval and has none: it is refused, for another reason if there is one. */
  readonly isUnapproved?: boolean;
  /** The tools of the caller's own session, if they can differ from those of the shared session. */
  readonly sessionTools?: () => Promise<ToolList>;
  /** Is told the rate limits that apply, before the call is admitted or refused. */
  readonly onLimited?: (applied: readonly AppliedLimit[]) => void;
  /** How long the call waits when a rate limit is reached; absent: it is refused at once. */
  readonly waitForLimit?: LimitPatience;
  /** True if the tool is called as a task, whose result is awaited. */
  readonly asTask?: boolean;
  /** True if the answer goes through the streaming endpoint. */
  readonly streamable?: boolean;
  /** The caller's trace context (W3C), not validated. */
  readonly trace?: { readonly traceparent?: string | undefined; readonly tracestate?: string | undefined };
}
