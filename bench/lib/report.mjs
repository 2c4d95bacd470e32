import { availableParallelism, cpus } from 'node:os';

const COLUMNS = ['', 'peer', 'target', 'ours', 'ours : peer', ''];
const COLUMNS_BEFORE = ['before', 'ours : before'];
/** How much later than at the peer the first chunk may arrive, in milliseconds. */
const FIRST_CHUNK_AFTER_PEER_MS = { PostgreSQL: 3, Redis: 1.5 };
/** The share of the peer's runs per second. */
const SHARE_OF_RUNS = 0.4;
const MOST_KILOBYTES = 12;

/** Returns the quantile of the values (nearest rank). @param {number} part 0.5 for the median */
export function quantile(values, part) {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * part) - 1)];
}

/** Describes the machine in one line. */
export function machine() {
  return (
    `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, ` +
    `${process.platform} ${process.arch}`
  );
}

/**
 * Formats the results of one backend as a table: peer, target, and ours, and the checkout `before` if it was measured.
 */
export function table(backend, { peer, ours, before }) {
  const row = (title, figure, part, target) => {
    const [theirs, own, earlier] = [peer, ours, before].map((figures) => figures && quantile(figures[figure], part));
    const [aim, verdict] = target?.(own, theirs) ?? ['-', ''];
    const cells = [title, number(theirs), aim, number(own), ratio(own, theirs), verdict];
    return before ? [...cells, number(earlier), ratio(own, earlier)] : cells;
  };
  return layOut([
    [backend, ...COLUMNS.slice(1), ...(before ? COLUMNS_BEFORE : [])],
    row('first chunk p50, ms', 'firstChunk', 0.5, (own, theirs) =>
      atMost(own, theirs + FIRST_CHUNK_AFTER_PEER_MS[backend]),
    ),
    row('first chunk p99, ms', 'firstChunk', 0.99),
    row('first word p50, ms', 'firstWord', 0.5),
    row('first word p99, ms', 'firstWord', 0.99),
    row('runs per second', 'runsPerSecond', 0.5, (own, theirs) => atLeast(own, theirs * SHARE_OF_RUNS)),
    row('KB per idle stream', 'kilobytesPerStream', 0, (own) => atMost(own, MOST_KILOBYTES)),
  ]);
}

function atMost(value, limit) {
  return [`<= ${number(limit)}`, value <= limit ? 'met' : 'MISSED'];
}

function atLeast(value, limit) {
  return [`>= ${number(limit)}`, value >= limit ? 'met' : 'MISSED'];
}

export function ratio(value, other) {
  return other > 0 ? (value / other).toFixed(2) : '-';
}

export function number(value) {
  return value === undefined ? '-' : value.toFixed(value < 100 ? 1 : 0);
}

/** A number with its noun: `1 caller`, `1,000 callers`. */
export function counted(count, singular, plural = `${singular}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** Aligns the columns of a table: the first to the left, the others to the right. @param {string[][]} rows */
export function layOut(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
  return rows
    .map((cells) =>
      cells
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
