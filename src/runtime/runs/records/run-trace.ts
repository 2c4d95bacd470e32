import { parseTraceparent } from '../../../platform/telemetry/trace-context.js';

/** The trace of a run, for callers. */
export interface RunTrace {
  trace_id: string | null;
  trace_url: string | null;
}

const SAMPLED = 0x01;
const NO_TRACE: RunTrace = { trace_id: null, trace_url: null };

/**
 * The trace that the attempts of a run continue. A trace that is not sampled is not exported, so callers do not see its
 * id.
 * @param template the setting `TRACE_URL`
 */
export function traceOf(traceparent: string | null, template: string | undefined): RunTrace {
  const trace = traceparent === null ? undefined : parseTraceparent(traceparent);
  if (trace === undefined || (trace.flags & SAMPLED) === 0) return NO_TRACE;
  return { trace_id: trace.traceId, trace_url: template?.replaceAll('{traceId}', trace.traceId) ?? null };
}
