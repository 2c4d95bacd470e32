import type { TimeWindow } from './time-window.js';
import type { Span } from './span.js';

/** A part of the time of a run and its place on the axis. Times in milliseconds since 1970, places in percent. */
interface Segment {
  readonly start: number;
  readonly end: number;
  readonly left: number;
  readonly width: number;
  /** A wait that takes less of the axis than of the time. */
  readonly isShortened: boolean;
}

export interface TimeScale {
  /** When the run began, from which times are counted. */
  readonly origin: number;
  /** How long the run took, in milliseconds. */
  readonly length: number;
  readonly segments: readonly Segment[];
  /** The moments that the axis names. */
  readonly ticks: readonly number[];
  /** The place of a moment, in percent. */
  at(time: number): number;
  /** The moment at a place, in percent. */
  timeAt(place: number): number;
  /** Whether a stretch of time is on the axis, at least in part. */
  shows(start: number, end: number): boolean;
}

/** Waits are shortened if they are longer than this, in milliseconds, and than half of the rest. */
const MIN_SHORTENED_MS = 1_000;
/** How much of the axis a shortened wait takes, compared with the rest. */
const WAIT_SHARE = 0.1;
/** The distance of two ticks is one of these, times a power of ten. */
const ROUND = [1, 2, 5, 10];
const TICKS = 5;
/** Ticks that are closer together than this, in percent, would overlap. */
const MIN_TICK_DISTANCE = 14;

/**
 * The axis of a run. Waits for a worker or a person that are long beside the work are shortened, so that 80 seconds of
 * waiting do not hide 500 ms of work.
 * @param options.window shows only this part of the run
 */
export function scaleOf(
  spans: readonly Span[],
  { areWaitsShortened = true, window }: { areWaitsShortened?: boolean; window?: TimeWindow | undefined } = {},
): TimeScale {
  const origin = Math.min(...spans.map((span) => span.start));
  const length = Math.max(...spans.map((span) => span.end - origin), 1);
  const start = origin + (window?.from ?? 0);
  const end = origin + (window?.to ?? length);
  const waits = areWaitsShortened ? waitsBetween(spans, start, end) : [];
  const work = end - start - waits.reduce((sum, wait) => sum + wait.end - wait.start, 0);
  const limit = Math.max(MIN_SHORTENED_MS, work / 2);
  const shortened = waits.filter((wait) => work > 0 && wait.end - wait.start > limit);
  const segments = segmentsOf(start, end, shortened, work * WAIT_SHARE);
  const at = (time: number): number => {
    const segment = segments.findLast((candidate) => time >= candidate.start) ?? segments[0];
    if (segment === undefined) return 0;
    const share = (Math.min(time, segment.end) - segment.start) / (segment.end - segment.start || 1);
    return segment.left + Math.max(0, share) * segment.width;
  };
  const timeAt = (place: number): number => {
    const segment = segments.findLast(({ left }) => place >= left) ?? segments[0];
    if (segment === undefined) return start;
    const share = Math.max(0, Math.min(1, (place - segment.left) / (segment.width || 1)));
    return segment.start + share * (segment.end - segment.start);
  };
  const shows = (from: number, to: number): boolean => to >= start && from <= end;
  return { origin, length, segments, at, timeAt, shows, ticks: ticksOf(origin, segments, at) };
}

/** The stretches in which the run waited for a worker or a person, and no model and no tool worked. */
function waitsBetween(spans: readonly Span[], start: number, end: number): { start: number; end: number }[] {
  const waits: { start: number; end: number }[] = [];
  let position = start;
  const working = spans.filter(
    (span) => (span.kind === 'model' || span.kind === 'tool') && span.start < end && span.end > start,
  );
  for (const span of working.toSorted((a, b) => a.start - b.start)) {
    if (span.start > position) waits.push({ start: position, end: span.start });
    position = Math.max(position, span.end);
  }
  if (end > position) waits.push({ start: position, end });
  const known = spans.filter(({ kind }) => kind === 'queue' || kind === 'approval');
  return waits.filter((wait) => known.some((span) => span.start < wait.end && span.end > wait.start));
}

function segmentsOf(
  start: number,
  end: number,
  shortened: readonly { readonly start: number; readonly end: number }[],
  shortLength: number,
): Segment[] {
  const parts: (Pick<Segment, 'start' | 'end' | 'isShortened'> & { length: number })[] = [];
  let position = start;
  const add = (until: number, isShortened: boolean): void => {
    const length = isShortened ? shortLength : until - position;
    if (until > position) parts.push({ start: position, end: until, isShortened, length });
    position = until;
  };
  for (const wait of shortened) {
    add(wait.start, false);
    add(wait.end, true);
  }
  add(end, false);
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  let left = 0;
  return parts.map(({ length, ...part }) => {
    const width = (length / total) * 100;
    left += width;
    return { ...part, left: left - width, width };
  });
}

function ticksOf(origin: number, segments: readonly Segment[], at: TimeScale['at']): number[] {
  const shown = segments.filter(({ isShortened }) => !isShortened);
  const length = shown.reduce((sum, segment) => sum + segment.end - segment.start, 0);
  const magnitude = 10 ** Math.floor(Math.log10(length / TICKS));
  const step = magnitude * (ROUND.find((factor) => factor * magnitude * TICKS >= length) ?? 1);
  const start = segments[0]?.start ?? origin;
  const ticks = [start];
  for (const segment of shown) {
    for (let tick = origin + Math.ceil((segment.start - origin) / step) * step; tick <= segment.end; tick += step) {
      if (at(tick) - at(ticks.at(-1) ?? start) >= MIN_TICK_DISTANCE) ticks.push(tick);
    }
  }
  return ticks;
}
