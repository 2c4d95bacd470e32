import type { AuditEntry } from '../audit/calls/audit-log.js';
import type { AuditStatus } from '../audit/calls/audit-record.js';
import { isObject } from '../core/is-record.js';
import { toDomainError } from '../core/to-domain-error.js';
import type { MeasuredCall } from '../platform/telemetry/proxy-telemetry.js';
import { UpstreamError } from './contract/upstream-error.js';

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
