import { type Context, createTraceState, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { holdsCredential } from '../common/credential-forms.js';

/** A caller's trace context as its headers (or `_meta`) hold it, unchecked. */
export interface IncomingTraceContext {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

/** A trace context that may be sent on. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** W3C Trace Context §3.2.2. What a later version may append after the flags is passed on within bounds. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-[0-9A-Za-z_-]{1,128})?$/;
/** §3.3.1: what has to be carried at least is what is carried at most. */
const MAX_TRACESTATE_LENGTH = 512;
const MAX_TRACESTATE_MEMBERS = 32;
const TRACESTATE_MEMBER =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** A valid `traceparent` in its parts. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

/** Undefined unless it is valid by W3C Trace Context. */
export function parseTraceparent(traceparent: string): TraceParent | undefined {
  const match = TRACEPARENT.exec(traceparent);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = match;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/**
 * What of a caller's trace context is valid and holds no credential, as it came. Without a valid `traceparent` there is none; an invalid
 * `tracestate` is left out (W3C Trace Context §4.3).
 */
export function validTraceContext(incoming: IncomingTraceContext): TraceContext | undefined {
  const { traceparent, tracestate } = incoming;
  if (traceparent === undefined || parseTraceparent(traceparent) === undefined || holdsCredential(traceparent)) {
    return undefined;
  }
  if (tracestate === undefined || !isValidTracestate(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}

/** What a span goes under that continues the caller's trace; the root, if the caller sends none that is valid. */
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

/** The trace context by which others continue the trace of this span. */
export function traceContextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  // A span that is not sampled carries its decision on.
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
