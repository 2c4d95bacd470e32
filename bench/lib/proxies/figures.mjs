import { layOut, quantile } from '../report.mjs';

/** Of the p50 of each peer. */
export const MOST_PART = 0.8;

/**
 * Figures of proxies. A leg has `failed` with the reason, or `byCallers` with the figures by the number of callers:
 * milliseconds of a call, microseconds of its process per call, and ours compared with the leg (`part`, the ratio of
 * the p50, and `more`, the difference in ms; both the median of the rounds).
 * @typedef {{ p50: number, p99?: number, cpu: number, part?: number, more?: number }} Figure
 * @typedef {{ upstream: string, name: string, title: string, leaves?: string, callerRevision?: string,
 *   upstreamRevision?: string, failed?: string, byCallers: Record<string, Figure> }} ProxyLeg
 * @typedef {{ measured: string, machine: string, load: number[], rounds: number, ms: number,
 *   legs: ProxyLeg[] }} ProxyFigures
 */

/** The figures of measured legs. @returns {ProxyLeg[]} */
export function figuresOf(legs) {
  return legs.map((leg) => {
    const { upstream, name, title, leaves, callerRevision, upstreamRevision, failed } = leg;
    const common = { upstream, name, title, leaves, callerRevision, upstreamRevision };
    if (failed !== undefined) return { ...common, failed, byCallers: {} };
    const ours = oursBeside(leg, legs);
    const byCallers = Object.fromEntries(
      Object.entries(leg.byCallers).map(([count, figure]) => [count, figureOf(figure, ours?.byCallers[count])]),
    );
    return { ...common, byCallers };
  });
}

/** Ours to compare a leg with: over the same upstream, with the same revision there if there is one. */
function oursBeside(leg, legs) {
  if (leg.name.startsWith('ours')) return undefined;
  const all = legs.filter((each) => {
    return each.upstream === leg.upstream && each.name.startsWith('ours') && each.failed === undefined;
  });
  return all.find(({ upstreamRevision }) => upstreamRevision === leg.upstreamRevision) ?? all[0];
}

function figureOf({ times, rounds, cpu }, ours) {
  const figure = { p50: quantile(times, 0.5), p99: quantile(times, 0.99), cpu: (cpu / times.length) * 1e6 };
  if (ours === undefined) return figure;
  // The comparisons within a round: other load on the machine affects both.
  const pairs = rounds.map((each, i) => [quantile(ours.rounds[i], 0.5), quantile(each, 0.5)]);
  const medianOf = (compare) => quantile(pairs.map(compare), 0.5);
  return { ...figure, part: medianOf(([own, its]) => own / its), more: medianOf(([own, its]) => own - its) };
}

/** Prints a table for each upstream and number of callers, then what failed and what the peers leave out. */
export function printProxies({ legs, rounds, ms, load }) {
  for (const upstream of new Set(legs.map((leg) => leg.upstream))) {
    const all = legs.filter((leg) => leg.upstream === upstream);
    const counts = new Set(all.flatMap(({ byCallers }) => Object.keys(byCallers)));
    for (const count of counts) console.log(`${tableOf(all, upstream, count)}\n`);
  }
  for (const { upstream, title, failed } of legs) if (failed) console.log(`${upstream} ${title} failed: ${failed}`);
  const leaves = new Map(legs.filter((leg) => leg.leaves).map((leg) => [leg.title, leg.leaves]));
  for (const [title, each] of leaves) console.log(`${title} leaves out: ${each}.`);
  console.log(
    'Revision: agreed on with the callers, and asked of the upstream. Ours at the upstream revision of a leg is compared\n' +
      `with it. p50 and p99 of all calls of ${rounds} rounds of ${ms / 1000} s, in which the legs take turns in another\n` +
      'order each round. CPU is the time of the proxy process per call, without its programs (direct: of the upstream).\n' +
      `Load of the machine (1 minute) before and after: ${load.map((value) => value.toFixed(1)).join(', ')}.\n`,
  );
}

function tableOf(legs, upstream, count) {
  const title = `${upstream}, ${count} caller${count === '1' ? '' : 's'}`;
  const heads = ['callers at', 'upstream at', 'p50, ms', 'p99', 'CPU, us', 'ours / it', 'ours - it, ms', ''];
  const rows = legs.map((leg) => {
    const { p50, p99, cpu, part, more } = leg.byCallers[count] ?? {};
    const isPeer = leg.leaves !== undefined && part !== undefined;
    const verdict = isPeer ? `${part <= MOST_PART ? 'met' : 'MISSED'} (<= ${MOST_PART})` : '';
    const cells = [[p50, 3], [p99, 2], [cpu, 0], [part, 2], [more, 2]]; // prettier-ignore
    const revisions = [leg.callerRevision, leg.upstreamRevision].map((each) => each || '-');
    return [leg.title, ...revisions, ...cells.map(([value, digits]) => value?.toFixed(digits) ?? '-'), verdict];
  });
  return layOut([[title, ...heads], ...rows]);
}
