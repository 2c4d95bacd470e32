import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord, parseRecord } from '../../core/is-record.js';
import { dataOf, sseParts } from '../messages/sse-parts.js';
import type { UpstreamAnswer } from '../messages/upstream-channel.js';
import { changeIn, type ListedKind } from '../contract/list-change.js';
import { UpstreamError, type UpstreamErrorKind } from '../contract/upstream-error.js';
import type { UpstreamRequest } from '../contract/upstream-request.js';
import { discard } from '../messages/answer-body.js';

/** A notification stream is normally quiet; the limits on its events and bytes apply to this time, in milliseconds. */
const WINDOW_MS = 10_000;
export const MAX_EVENTS = 500;
export const MAX_BYTES = 2 * 1024 * 1024;

/** Notifications are short; a longer event is skipped, in bytes. */
const MAX_EVENT_BYTES = 64 * 1024;
/** Milliseconds before a broken stream is reopened; doubled each time it soon breaks again. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A stream or a session that was open for this long did not break soon. */
export const STABLE_MS = 30_000;
/** Faults that pass: of the network, and of a service that has no free socket. */
const PASSING_KINDS: ReadonlySet<UpstreamErrorKind> = new Set(['unreachable', 'timeout', 'busy']);
/** Statuses of an upstream that is temporarily unavailable. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** MCP 2026-07-28, "Subscriptions". */
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** The session that a notification stream belongs to. */
export interface NotificationSource {
  /** Opens the stream. Rejects with `UpstreamError`. */
  open(signal: AbortSignal): Promise<UpstreamAnswer>;
  /** @param kind a list that has changed, or may have changed while the stream was closed */
  changed(kind: ListedKind): void;
  /** The upstream reported that a resource has changed. */
  updated(uri: string): void;
  /** The stream is open after it broke, or after it could not be opened. */
  reopened(): void;
  /** The upstream sent a request. */
  asked(id: string | number, request: UpstreamRequest): void;
  /** The upstream has accepted a subscription. @param notifications what it is to */
  acknowledged?(notifications: Readonly<Record<string, unknown>>): void;
}

/**
 * How the stream ended: `over` the upstream does not offer it, has one already or floods it, or it was aborted · `lost`
 * the upstream no longer knows the session.
 */
type EndOfNotifications = 'over' | 'lost';
type EndOfStream = EndOfNotifications | 'broken';

/** True if the answer to the request for a stream is one. */
export function isNotificationStream({ status, contentType }: UpstreamAnswer): boolean {
  return status === 200 && contentType === 'text/event-stream';
}

/**
 * Listens to an upstream's unsolicited messages. A stream that broke or could not be opened is opened again with
 * growing pauses; every list then counts as changed, because notifications may have been missed. Never rejects.
 * @param kinds the lists whose changes the upstream announces
 * @param firstPauseMs the pause after the first break
 */
export async function followNotifications(
  source: NotificationSource,
  kinds: readonly ListedKind[],
  signal: AbortSignal,
  firstPauseMs = FIRST_PAUSE_MS,
): Promise<EndOfNotifications> {
  const flood = new FloodGuard();
  let pauseMs = firstPauseMs / 2;
  let wasOpen = false;
  let mayHaveMissed = false;

  const listenOnce = async (): Promise<EndOfStream> => {
    try {
      const answer = await source.open(signal);
      if (!isNotificationStream(answer)) {
        discard(answer.body);
        return 'over';
      }
      if (mayHaveMissed) {
        kinds.forEach((kind) => source.changed(kind));
        source.reopened();
      }
      wasOpen = true;
      return await read(answer, source, flood);
    } catch (error) {
      return wasOpen || !isSessionLost(error) ? endOf(error) : 'over';
    }
  };

  for (;;) {
    const startedAt = performance.now();
    const end = await listenOnce();
    if (signal.aborted) return 'over';
    if (end !== 'broken') return end;
    mayHaveMissed = true;
    pauseMs = performance.now() - startedAt >= STABLE_MS ? firstPauseMs : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    // The jitter spreads the reopening of many streams that broke at once.
    const waited = sleep(pauseMs * (1 + Math.random() / 2), undefined, { signal, ref: false });
    await waited.catch(() => undefined);
    if (signal.aborted) return 'over';
  }
}

async function read({ body }: UpstreamAnswer, source: NotificationSource, flood: FloodGuard): Promise<EndOfStream> {
  try {
    for await (const { bytes, isWhole } of sseParts(body, MAX_EVENT_BYTES)) {
      if (!flood.allows(bytes.length)) return 'over';
      const data = isWhole ? dataOf(bytes) : undefined;
      if (data !== undefined) handleEvent(data, source);
    }
    return 'broken';
  } finally {
    discard(body);
  }
}

function handleEvent(data: string, source: NotificationSource): void {
  const message = parseRecord(data) ?? {};
  const change = changeIn(message);
  if (change !== undefined) {
    if ('kind' in change) source.changed(change.kind);
    else source.updated(change.uri);
    return;
  }
  const { method, id, params } = message;
  if (method === ACKNOWLEDGED) {
    const notifications = isRecord(params) ? params['notifications'] : undefined;
    source.acknowledged?.(isRecord(notifications) ? notifications : {});
  } else if (typeof method === 'string' && (typeof id === 'string' || typeof id === 'number')) {
    source.asked(id, { method, params: isRecord(params) ? params : undefined });
  }
}

/**
 * A server without this stream may answer 404. Before the stream was first open, 404 therefore does not mean a lost
 * session.
 */
function isSessionLost(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'session_lost';
}

function endOf(error: unknown): EndOfStream {
  // After the head of the answer, only the socket can fail.
  if (!(error instanceof UpstreamError)) return 'broken';
  if (error.kind === 'session_lost') return 'lost';
  if (error.status !== undefined) return PASSING_STATUSES.has(error.status) ? 'broken' : 'over';
  return PASSING_KINDS.has(error.kind) ? 'broken' : 'over';
}

/** Limits the events and bytes of a notification stream. */
export class FloodGuard {
  private startedAt = -Infinity;
  private events = 0;
  private bytes = 0;

  /** Counts the next event; false if it exceeds a limit. @param now on the monotonic clock, in milliseconds */
  allows(size: number, now = performance.now()): boolean {
    if (now - this.startedAt >= WINDOW_MS) {
      this.startedAt = now;
      this.events = 0;
      this.bytes = 0;
    }
    this.events++;
    this.bytes += size;
    return this.events <= MAX_EVENTS && this.bytes <= MAX_BYTES;
  }
}
