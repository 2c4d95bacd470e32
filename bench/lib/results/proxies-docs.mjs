import { markdownTable, whereAndWhen } from './markdown-table.mjs';

/**
 * The conditions and tables of a run, a table for each kind of upstream.
 * @param {import('../proxies/figures.mjs').ProxyFigures} figures
 */
export function proxyTables(figures) {
  const { rounds, ms, legs } = figures;
  const conditions = `${rounds} rounds of ${ms / 1000} s for each leg and number of callers, ${whereAndWhen(figures)}`;
  return [conditions, ...upstreamsOf(legs).map((upstream) => tableOf(upstream, legs))].join('\n\n');
}

/** @param {import('../proxies/figures.mjs').ProxyFigures} figures */
export function proxyCharts({ legs }) {
  const charts = upstreamsOf(legs).flatMap((upstream) =>
    countsOf(legs).map((count) => ({
      title: `${upstream}, ${callers(count)}: p50 of a call, ms`,
      bars: legs
        .filter((leg) => leg.upstream === upstream && leg.byCallers[count] !== undefined)
        .map((leg) => ({ label: leg.title, value: leg.byCallers[count].p50, isOurs: leg.name.startsWith('ours') })),
    })),
  );
  return { title: 'Time of a call through MCP proxies', charts };
}

function tableOf(upstream, legs) {
  const all = legs.filter((leg) => leg.upstream === upstream);
  const counts = countsOf(all);
  const heads = counts.flatMap((count) => [
    `${callers(count)}: p50 (ms)`,
    'p99',
    'CPU (µs)',
    'ours / it',
    'ours − it (ms)',
  ]);
  const rows = all.map(({ title, callerRevision, upstreamRevision, failed, byCallers }) => [
    title,
    revisions(callerRevision, upstreamRevision),
    ...counts.flatMap((count, i) => {
      if (failed !== undefined) return i === 0 ? ['failed', '', '', '', ''] : ['', '', '', '', ''];
      const { p50, p99, cpu, part, more } = byCallers[count] ?? {};
      return [cell(p50, 2), cell(p99, 1), cell(cpu, 0), cell(part, 2), cell(more, 2)];
    }),
  ]);
  const table = markdownTable([[`${upstream} upstream`, 'Revision: callers, upstream', ...heads], ...rows]);
  const failures = all.filter(({ failed }) => failed).map(({ title, failed }) => `${title} failed: ${failed}`);
  return [table, ...failures].join('\n\n');
}

const upstreamsOf = (legs) => [...new Set(legs.map(({ upstream }) => upstream))];
const countsOf = (legs) => [...new Set(legs.flatMap(({ byCallers }) => Object.keys(byCallers)))];
const callers = (count) => `${count} caller${count === '1' ? '' : 's'}`;
const cell = (value, digits) => value?.toFixed(digits).replace('-', '−') ?? '';

function revisions(callerRevision, upstreamRevision) {
  if (callerRevision === undefined && upstreamRevision === undefined) return '';
  return [callerRevision, upstreamRevision].map((each) => each || 'not known').join(', ');
}
