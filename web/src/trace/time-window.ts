/** A part of the time of a run, in milliseconds from its start. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** The shortest time that the axis can show. */
const MIN_MS = 1;
const ZOOM = 2;
/** How much of the window a move goes on. */
const MOVE = 0.5;

export type WindowChange = 'in' | 'out' | 'earlier' | 'later';

/** The window as it stands in an address: `120-5400`. */
export function formatWindow({ from, to }: TimeWindow): string {
  return `${Math.round(from)}-${Math.round(to)}`;
}

/** The window of an address; undefined for the whole run, and for an address that makes no sense. */
export function parseWindow(text: string | undefined, length: number): TimeWindow | undefined {
  const [, from, to] = /^(\d{1,12})-(\d{1,12})$/.exec(text ?? '') ?? [];
  if (from === undefined || to === undefined || Number(from) >= Number(to)) return undefined;
  return windowIn({ from: Number(from), to: Number(to) }, length);
}

/** The window after a change; undefined if it shows the whole run then. */
export function changedWindow(
  shown: TimeWindow | undefined,
  length: number,
  change: WindowChange,
): TimeWindow | undefined {
  const { from, to } = shown ?? { from: 0, to: length };
  const size = to - from;
  if (change === 'earlier' || change === 'later') {
    const wanted = change === 'later' ? size * MOVE : -size * MOVE;
    const step = Math.max(-from, Math.min(length - to, wanted));
    return windowIn({ from: from + step, to: to + step }, length);
  }
  const middle = (from + to) / 2;
  const half = (change === 'in' ? size / ZOOM : size * ZOOM) / 2;
  return windowIn({ from: middle - half, to: middle + half }, length);
}

/** A window within the run, not shorter than the axis can show; undefined if it is the whole run. */
export function windowIn({ from, to }: TimeWindow, length: number): TimeWindow | undefined {
  const start = Math.min(Math.max(0, from), Math.max(0, length - MIN_MS));
  const end = Math.min(length, Math.max(start + MIN_MS, to));
  return start <= 0 && end >= length ? undefined : { from: start, to: end };
}
