import { quantile } from './report.mjs';

/** The targets of issue A2. */
const MOST_ADDED_MS = 0.3;
const LEAST_PART_OF_BARE = 0.6;

const TITLES = { direct: 'direct', bare: 'bare (peer)', before: 'before', ours: 'ours', oauth: 'OAuth token' };
const FIGURES = [
  ['requests per second', 'rps', 0],
  ['p50, ms', 'p50', 3],
  ['p99, ms', 'p99', 3],
  ['CPU per request, us', 'cpuPerCall', 0],
  ['… of PostgreSQL, us', 'databaseCpuPerCall', 0],
  ['load generator, cores', 'busy', 2],
];

/**
 * Formats the results for one number of callers: medians of the rounds, with limit and verdict. The verdict compares `ours`
 * with `bare` in each round and uses the median of these comparisons, because the speed of a shared machine varies more
 * between rounds than the difference of interest. The ratios to `before` and to the
 * OAuth token are computed in the same way.
 */
export function proxyTable(figures, callers) {
  const names = Object.keys(figures);
  const median = (name, key) => middle(figures[name][callers].map((round) => round[key]));
  const { bare, before, oauth, ours } = figures;
  const comparedWith = (other, compare) => middle(ours[callers].map((round, i) => compare(round, other[callers][i])));
  const head = [
    callers === 1 ? '1 caller' : `${callers} callers`,
    ...names.map((name) => TITLES[name]),
    ...(before && ours ? ['ours / before'] : []),
    ...(oauth && ours ? ['ours / OAuth'] : []),
    'limit',
    '',
  ];
  const rows = FIGURES.map(([title, key, digits]) => [
    title,
    ...names.map((name) => number(median(name, key), digits)),
    ...(before && ours
      ? [
          number(
            comparedWith(before, (mine, theirs) => mine[key] / theirs[key]),
            3,
          ),
        ]
      : []),
    ...(oauth && ours
      ? [
          number(
            comparedWith(oauth, (mine, theirs) => mine[key] / theirs[key]),
            3,
          ),
        ]
      : []),
    ...(bare && ours ? judge(callers, key, (compare) => comparedWith(bare, compare)) : ['', '']),
  ]);
  return layOut([head, ...rows]);
}

/** Reports whether the service recorded all calls. */
export function recordsLine(calls, recorded) {
  const parts = Object.entries(recorded).map(
    ([kind, count]) => `${count} ${kind}${count === calls ? '' : ' (MISSED)'}`,
  );
  return `Of ${calls} calls, ours recorded: ${parts.join(', ')}.`;
}

/** Describes the method of measurement. */
export function methodOf(rounds, seconds) {
  return [
    `Medians of ${rounds} rounds of ${seconds} s in which the targets alternate. The verdict is the median of the comparisons of ours with bare in`,
    'the same round. Each caller waits for its answer before it sends the next call (tools/call with 64 bytes of text).',
    'CPU is the CPU time of the proxy process (direct: of the upstream). All processes share the cores named above.',
    'Peer: only Fastify and undici. It looks up key and tool in a map, forwards the bytes, and pipes the answer.',
    'Ours: one process (ROLE=all) with key, permission, schema, audit, telemetry, log, and injected credentials.',
  ].join('\n');
}

/** Limit and verdict of a row; empty for rows without a target. */
function judge(callers, key, comparedWith) {
  if (callers === 1 && key === 'p50') {
    const added = comparedWith((ours, bare) => ours.p50 - bare.p50);
    return [`bare + ${MOST_ADDED_MS}`, `${verdict(added <= MOST_ADDED_MS)}: bare + ${added.toFixed(3)}`];
  }
  if (callers > 1 && key === 'rps') {
    const part = comparedWith((ours, bare) => ours.rps / bare.rps);
    const percent = (share) => `${(share * 100).toFixed(1)} % of bare`;
    return [percent(LEAST_PART_OF_BARE), `${verdict(part >= LEAST_PART_OF_BARE)}: ${percent(part)}`];
  }
  return ['', ''];
}

function verdict(isMet) {
  return isMet ? 'met' : 'MISSED';
}

function middle(values) {
  return quantile(values, 0.5);
}

function number(value, digits) {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}

function layOut(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)));
  const aligned = (cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]));
  return rows.map((cells) => cells.map(aligned).join('  ').trimEnd()).join('\n');
}
