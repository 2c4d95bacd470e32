import { counted, layOut, quantile } from './report.mjs';
import { UPSTREAM_KINDS } from './upstream-kinds.mjs';

/** The targets of issue B4, for an upstream that answers with JSON. */
const MOST_ADDED_MS = 0.25;
const LEAST_PART_OF_BARE = 0.75;
/**
 * How much more than to a JSON answer the proxy adds to an event stream, and how much more than a bare pass-through
 * (issue B4).
 */
const MOST_ADDED_TO_STREAM_MS = 0.3;

const TITLES = { direct: 'direct', bare: 'bare', before: 'before', ours: 'ours', oauth: 'OAuth' };

/**
 * Formats the latency with one caller: p50 of each target in milliseconds, medians of the rounds. `added` is the
 * difference of ours and bare, and `over JSON` how much more than to a JSON answer ours adds to the direct call. Both
 * are computed in each round, because the speed of a shared machine varies more between rounds than the difference of
 * interest, and the median counts.
 */
export function latencyTable(figures, callers) {
  const names = namesOf(figures);
  const rows = Object.entries(figures).map(([kind, targets]) => {
    const p50 = (name) => middle(roundsOf(targets, name, callers).map((round) => round.p50));
    return [
      UPSTREAM_KINDS[kind].title,
      ...names.map((name) => number(p50(name), 3)),
      ...addedCells(figures, kind, callers),
      number(middle(roundsOf(targets, 'ours', callers).map((round) => round.p99)), 2),
    ];
  });
  const titles = names.map((name) => TITLES[name]);
  return layOut([['p50, ms, 1 caller', ...titles, 'added', '', 'over JSON', '', 'p99 ours'], ...rows]);
}

function addedCells(figures, kind, callers) {
  const { json } = UPSTREAM_KINDS[kind];
  const added = comparison(figures[kind], callers, 'ours', 'bare', (ours, bare) => ours.p50 - bare.p50);
  const most = json === undefined ? MOST_ADDED_MS : MOST_ADDED_TO_STREAM_MS;
  const added50 = added === undefined ? ['-', ''] : [number(added, 3), verdict(added <= most, `<= ${most}`)];
  const over = json && figures[json] && overJson(figures[kind], figures[json], callers);
  if (over === undefined || Number.isNaN(over)) return [...added50, '', ''];
  const isMet = over <= MOST_ADDED_TO_STREAM_MS;
  return [...added50, number(over, 3), verdict(isMet, `<= ${MOST_ADDED_TO_STREAM_MS}`)];
}

function overJson(stream, json, callers) {
  if ([stream, json].some(({ direct, ours }) => direct === undefined || ours === undefined)) return undefined;
  const addedTo = ({ direct, ours }, round) => ours[callers][round].p50 - direct[callers][round].p50;
  return middle(stream.ours[callers].map((_, round) => addedTo(stream, round) - addedTo(json, round)));
}

/**
 * Formats the throughput with many callers: requests per second of each target, and the part of bare that ours reaches.
 */
export function throughputTable(figures, callers) {
  const names = namesOf(figures);
  const rows = Object.entries(figures).map(([kind, targets]) => {
    const part = comparison(targets, callers, 'ours', 'bare', (ours, bare) => ours.rps / bare.rps);
    const isJudged = part !== undefined && UPSTREAM_KINDS[kind].json === undefined;
    return [
      UPSTREAM_KINDS[kind].title,
      ...names.map((name) => number(middle(roundsOf(targets, name, callers).map((round) => round.rps)), 0)),
      part === undefined ? '-' : number(part, 3),
      isJudged ? verdict(part >= LEAST_PART_OF_BARE, `>= ${LEAST_PART_OF_BARE}`) : '',
    ];
  });
  const titles = names.map((name) => TITLES[name]);
  return layOut([[`calls/s, ${callers} callers`, ...titles, 'ours / bare', ''], ...rows]);
}

/**
 * Formats the CPU time of the measured process per call in microseconds (direct: of the upstream), over all rounds. It
 * is more robust than the latency when the machine has other work.
 */
export function cpuTable(figures, callers) {
  const names = namesOf(figures);
  const rows = Object.entries(figures).map(([kind, targets]) => {
    const cpu = (name, key = 'cpu') => perCall(roundsOf(targets, name, callers), key);
    const ratio = targets.before && targets.ours ? [number(cpu('ours') / cpu('before'), 3)] : [];
    const cells = names.map((name) => number(cpu(name), 0));
    return [UPSTREAM_KINDS[kind].title, ...cells, number(cpu('ours', 'databaseCpu'), 0), ...ratio];
  });
  const titles = names.map((name) => TITLES[name]);
  const ratio = names.includes('before') && names.includes('ours') ? ['ours / before'] : [];
  return layOut([[`CPU us per call, ${counted(callers, 'caller')}`, ...titles, 'PostgreSQL', ...ratio], ...rows]);
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
    `Medians of ${rounds} rounds of ${seconds} s in which the targets alternate; verdicts are medians of the comparisons`,
    'in the same round. Each caller waits for its answer before it sends the next call (tools/call with 64 bytes of text).',
    'An event stream is complete when it has ended. All processes share the cores named above.',
    'Bare: only Fastify and undici. It looks up key and tool in a map, forwards the bytes, and pipes the answer. It uses',
    'one session per upstream, as ours does for callers without a session.',
    'Ours: one process (ROLE=all) with key, permission, schema, audit, telemetry, log, and injected credentials.',
  ].join('\n');
}

function namesOf(figures) {
  return Object.keys(Object.values(figures)[0] ?? {});
}

/** The median of the comparisons of two targets in the same round; undefined if one was not measured. */
function comparison(targets, callers, one, other, compare) {
  if (targets[one] === undefined || targets[other] === undefined) return undefined;
  return middle(targets[one][callers].map((round, i) => compare(round, targets[other][callers][i])));
}

function roundsOf(targets, name, callers) {
  return targets[name]?.[callers] ?? [];
}

function perCall(rounds, key) {
  const sum = (of) => rounds.reduce((total, round) => total + round[of], 0);
  return sum(key) / sum('calls');
}

function verdict(isMet, limit) {
  return `${isMet ? 'met' : 'MISSED'} (${limit})`;
}

function middle(values) {
  return values.length === 0 ? Number.NaN : quantile(values, 0.5);
}

function number(value, digits) {
  return Number.isNaN(value) ? '-' : value.toFixed(digits);
}
