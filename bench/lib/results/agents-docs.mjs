import { number } from '../report.mjs';
import { markdownTable, whereAndWhen } from './markdown-table.mjs';

const HEADS = [
  'Agent server',
  'First chunk, p50 (ms)',
  'p99',
  'Whole, p50 (ms)',
  'Runs/s, 16 callers',
  'CPU per run (ms)',
  'Not accepted',
  'Completed',
  'Lost',
  'Doubled',
  'Whole',
  'Last (s)',
];

/**
 * The conditions and the table of a run.
 * @param {import('../agents/figures.mjs').AgentFigures} figures
 */
export function agentTable(figures) {
  const { rounds, latencyRuns, throughputMs, legs } = figures;
  const conditions =
    `${rounds} rounds of ${latencyRuns} runs of one caller and ${throughputMs / 1000} s of 16 callers, ` +
    whereAndWhen(figures);
  const rows = legs.map(({ title, failed, times, kill }) => [
    title,
    ...(times === undefined
      ? ['failed', '', '', '', '']
      : [times.first50, times.first99, times.whole50, times.runsPerSecond, times.cpu].map(number)),
    ...(kill === undefined
      ? [failed === undefined || times === undefined ? '' : 'failed', '', '', '', '', '']
      : [...[kill.unaccepted, kill.completed, kill.lost, kill.doubled, kill.whole].map(String), last(kill)]),
  ]);
  const failures = legs.filter(({ failed }) => failed).map(({ title, failed }) => `${title} failed: ${failed}`);
  return [conditions, markdownTable([HEADS, ...rows]), ...failures].join('\n\n');
}

/** @param {import('../agents/figures.mjs').AgentFigures} figures */
export function agentCharts({ legs }) {
  const chart = (title, valueOf) => ({
    title,
    bars: legs
      .map((leg) => ({ label: leg.title, value: valueOf(leg), isOurs: leg.name.startsWith('ours') }))
      .filter(({ value }) => value !== undefined),
  });
  return {
    title: 'Agent servers side by side',
    charts: [
      chart('First chunk, p50, ms', ({ times }) => times?.first50),
      chart('Runs per second, 16 callers', ({ times }) => times?.runsPerSecond),
      chart('Processor time per run, ms', ({ times }) => times?.cpu),
      chart('Of 100 runs, completed after kill -9', ({ kill }) => kill?.completed),
    ],
  };
}

const last = ({ lastAfterS }) => (lastAfterS === undefined ? '' : number(lastAfterS));
