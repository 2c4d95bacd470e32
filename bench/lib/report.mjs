import { availableParallelism, cpus } from 'node:os';

const COLUMNS = ['', 'peer', 'target', 'ours', 'ours : peer', ''];
const COLUMNS_BEFORE = ['before', 'ours : before'];
const AIM_FIRST_CHUNK_MS = { PostgreSQL: 10, Redis: 5 };
const AIM_KILOBYTES = 40;

/** Returns the quantile of the values (nearest rank). @param {number} part 0.5 for the median */
export function quantile(values, part) {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * part) - 1)];
}

/** Describes the machine in one line. */
export function machine() {
  return `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}, ${process.platform} ${process.arch}`;
}

/** Formats the results of one backend as a table: peer, target, and ours, and the checkout `before` if it was measured. */
export function table(backend, { peer, ours, before }) {
  const row = (title, figure, part, aim) => {
    const [theirs, own, earlier] = [peer, ours, before].map((figures) => figures && quantile(figures[figure], part));
    const verdict = aim === undefined ? '' : own <= aim ? 'met' : 'MISSED';
    const cells = [
      title,
      number(theirs),
      aim === undefined ? '-' : `<= ${aim}`,
      number(own),
      ratio(own, theirs),
      verdict,
    ];
    return before ? [...cells, number(earlier), ratio(own, earlier)] : cells;
  };
  return layOut([
    [backend, ...COLUMNS.slice(1), ...(before ? COLUMNS_BEFORE : [])],
    row('first chunk p50, ms', 'firstChunk', 0.5, AIM_FIRST_CHUNK_MS[backend]),
    row('first chunk p99, ms', 'firstChunk', 0.99),
    row('first word p50, ms', 'firstWord', 0.5),
    row('first word p99, ms', 'firstWord', 0.99),
    row('runs per second', 'runsPerSecond', 0.5),
    row('KB per idle stream', 'kilobytesPerStream', 0.5, AIM_KILOBYTES),
  ]);
}

function ratio(value, other) {
  return other > 0 ? (value / other).toFixed(2) : '-';
}

function number(value) {
  return value === undefined ? '-' : value.toFixed(value < 100 ? 1 : 0);
}

function layOut(rows) {
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
