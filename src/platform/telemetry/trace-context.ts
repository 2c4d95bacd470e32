import type { IncomingHttpHeaders } from 'node:http';
import { type Context, createTraceState, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { holdsCredential } from '../../core/credential-forms.js';

/** A caller's trace context as its headers (or `_meta`) hold it, unchecked. */
export interface IncomingTraceContext {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** The caller's trace context, not validated. */
export function incomingTrace({ traceparent, tracestate }: IncomingHttpHeaders): {
  traceparent?: string;
  tracestate?: string;
} {
  return {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof tracestate === 'string' && { tracestate }),
  };
}

/** A trace context that is safe to forward. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** W3C Trace Context §3.2.2. Fields that a later version appends after the flags are forwarded up to a limit. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-[0-9A-Za-z_-]{1,128})?$/;
/** §3.3.1: the minimum that the specification requires is the maximum here. */
const MAX_TRACESTATE_LENGTH = 512;
const MAX_TRACESTATE_MEMBERS = 32;
const TRACESTATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** A valid `traceparent` in its parts. */
interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

/** Returns undefined unless the value is valid by W3C Trace Context. */
export function parseTraceparent(traceparent: string): TraceParent | undefined {
  const match = TRACEPARENT.exec(traceparent);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = match;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/**
 * Returns the valid part of a caller's trace context, unchanged and without credentials: nothing without a valid
 * `traceparent`, and no `tracestate` that is invalid (W3C Trace Context §4.3).
 */
export function validTraceContext(incoming: IncomingTraceContext): TraceContext | undefined {
  const { traceparent, tracestate } = incoming;
  if (traceparent === undefined || parseTraceparent(traceparent) === undefined || holdsCredential(traceparent)) {
    return undefined;
  }
  if (tracestate === undefined || !isValidTracestate(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}

/** The parent of a span that continues the caller's trace; the root if the caller sends no valid trace. */
export function parentOf(incoming: IncomingTraceContext): Context {
  const valid = validTraceContext(incoming);
  const parent = valid && parseTraceparent(valid.traceparent);
  if (valid === undefined || parent === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.flags,
    isRemote: true,
    ...(valid.tracestate !== undefined && { traceState: createTraceState(valid.tracestate) }),
  });
}

/** The trace context with which other services continue the trace of this span. */
export function traceContextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  // The flags pass on the sampling decision, also of a span that is not sampled.
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize() ?? '';
  return tracestate === '' ? { traceparent } : { traceparent, tracestate };
}

function isValidTracestate(tracestate: string): boolean {
  if (tracestate === '' || tracestate.length > MAX_TRACESTATE_LENGTH || holdsCredential(tracestate)) return false;
  const members = tracestate.split(',').map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''));
  // Empty members are allowed (§3.3.1.1).
  return (
    members.length <= MAX_TRACESTATE_MEMBERS &&
    members.every((member) => member === '' || TRACESTATE_MEMBER.test(member))
  );
}
