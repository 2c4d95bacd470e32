import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf, sseParts } from '../messages/sse-parts.js';
import type { UpstreamAnswer } from '../messages/upstream-channel.js';
import { LISTED_KINDS, listChangedMethod, type ListedKind } from '../contract/list-change.js';
import { UpstreamError } from '../contract/upstream-error.js';
import { discard } from '../messages/answer-body.js';

/** A stream of news is quiet by nature; within this time, in milliseconds, it may hold so many events and bytes. */
const WINDOW_MS = 10_000;
export const MAX_EVENTS = 500;
export const MAX_BYTES = 2 * 1024 * 1024;

/** News of a session is short; a longer event is passed over, in bytes. */
const MAX_EVENT_BYTES = 64 * 1024;
/** Milliseconds before a stream that broke off is opened anew; doubled each time it soon breaks off again. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A stream that was open for this long has worked. */
export const WORKED_MS = 30_000;
/** The answers that say that the upstream is away or busy for the moment. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** What a stream of news needs of the session that it belongs to. */
export interface NewsSource {
  /** Opens the stream. Rejects with `UpstreamError`. */
  open(signal: AbortSignal): Promise<UpstreamAnswer>;
  /** @param kind a list that has changed, or may have while nobody listened */
  changed(kind: ListedKind): void;
  /** The upstream asks whether we are there. @param id of the request */
  pinged(id: string | number): void;
}

/**
 * How it ended: `over` the upstream offers no such stream, holds one already, floods it, or nobody needs it any longer ·
 * `lost` it has forgotten the session.
 */
export type EndOfNews = 'over' | 'lost';
type EndOfStream = EndOfNews | 'broken';

/**
 * Listens to what an upstream sends unasked. A stream that breaks off is opened again, with growing pauses; as it may have
 * missed something, every list counts as changed then. Never rejects.
 * @param kinds the lists whose changes the upstream promises to announce
 * @param firstPauseMs the pause after the first break
 */
export async function followNews(
  source: NewsSource,
  kinds: readonly ListedKind[],
  signal: AbortSignal,
  firstPauseMs = FIRST_PAUSE_MS,
): Promise<EndOfNews> {
  const flood = new FloodGuard();
  let pauseMs = firstPauseMs / 2;
  let wasOpen = false;

  const listenOnce = async (): Promise<EndOfStream> => {
    try {
      const answer = await source.open(signal);
      if (answer.status !== 200 || answer.contentType !== 'text/event-stream') {
        discard(answer.body);
        return 'over';
      }
      if (wasOpen) kinds.forEach((kind) => source.changed(kind));
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
    pauseMs = performance.now() - startedAt >= WORKED_MS ? firstPauseMs : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    // Many streams that broke at once do not all come back at once.
    const waited = sleep(pauseMs * (1 + Math.random() / 2), undefined, { signal, ref: false });
    await waited.catch(() => undefined);
    if (signal.aborted) return 'over';
  }
}

async function read({ body }: UpstreamAnswer, source: NewsSource, flood: FloodGuard): Promise<EndOfStream> {
  try {
    for await (const { bytes, isWhole } of sseParts(body, MAX_EVENT_BYTES)) {
      if (!flood.allows(bytes.length)) return 'over';
      const data = isWhole ? dataOf(bytes) : undefined;
      if (data !== undefined) hear(data, source);
    }
    return 'broken';
  } finally {
    discard(body);
  }
}

function hear(data: string, source: NewsSource): void {
  const { method, id } = parse(data);
  const kind = LISTED_KINDS.find((one) => listChangedMethod(one) === method);
  if (kind !== undefined) source.changed(kind);
  else if (method === 'ping' && (typeof id === 'string' || typeof id === 'number')) source.pinged(id);
}

function parse(data: string): { method?: unknown; id?: unknown } {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** A server without this stream may know no path for it: before it was open once, 404 does not speak of the session. */
function isSessionLost(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'session_lost';
}

function endOf(error: unknown): EndOfStream {
  // What fails after the head of the answer is the socket.
  if (!(error instanceof UpstreamError)) return 'broken';
  if (error.kind === 'session_lost') return 'lost';
  if (error.status !== undefined) return PASSING_STATUSES.has(error.status) ? 'broken' : 'over';
  return error.kind === 'unreachable' || error.kind === 'timeout' ? 'broken' : 'over';
}

/** Judges whether an upstream sends more than anybody has to listen to. */
export class FloodGuard {
  private startedAt = -Infinity;
  private events = 0;
  private bytes = 0;

  /** Takes the next event; false when it is one too many. @param now milliseconds of a monotonic clock */
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
