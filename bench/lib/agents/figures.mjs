import { layOut, number } from '../report.mjs';

/**
 * Figures of agent servers. A leg has `failed` with the reason, and what was measured before: `times` in milliseconds,
 * runs per second and CPU milliseconds per run at many callers; and what `kill -9` did, see `kill.mjs`.
 * @typedef {{ first50: number, first99: number, whole50: number, runsPerSecond: number, cpu: number }} Times
 * @typedef {{ name: string, title: string, leaves: string, failed?: string, times?: Times, kill?: { unaccepted: number,
 *   completed: number, lost: number, doubled: number, whole: number, lastAfterS?: number } }} AgentLeg
 * @typedef {{ measured: string, machine: string, load: number[], rounds: number, latencyRuns: number,
 *   throughputMs: number, legs: AgentLeg[] }} AgentFigures
 */

const HEADS = [
  'agent server',
  'first p50, ms',
  'p99',
  'whole p50',
  'runs/s',
  'CPU, ms',
  'not accepted',
  'completed',
  'lost',
  'doubled',
  'whole',
  'last',
];
const NONE = '-';

/** Prints the table, then what failed and what the peers leave out. @param {AgentFigures} figures */
export function printAgents({ legs, rounds, latencyRuns, throughputMs, load }) {
  console.log(layOut([HEADS, ...legs.map((leg) => [leg.title, ...cellsOf(leg)])]));
  for (const { title, failed } of legs) if (failed !== undefined) console.log(`${title} failed: ${failed}`);
  for (const { title, leaves } of legs) if (leaves) console.log(`${title} leaves out: ${leaves}.`);
  console.log(
    `${rounds} rounds in turns: ${latencyRuns} runs of one caller, each of 20 chunks, and 16 callers for ` +
      `${throughputMs / 1000} s; runs/s is\nthe median of the rounds. CPU is of the server with its databases, per run ` +
      'at 16 callers.\nkill -9 within 100 runs: posts that were not accepted by then; of the others, in the 60 s after ' +
      'the restart:\ncompleted, lost, doubled answers, streams whole (each word once), seconds to the last (- if one is ' +
      `lost).\nLoad of the machine (1 minute) before and after: ${load.map((value) => value.toFixed(1)).join(', ')}.\n`,
  );
}

function cellsOf({ times, kill }) {
  const measured =
    times === undefined
      ? [NONE, NONE, NONE, NONE, NONE]
      : [times.first50, times.first99, times.whole50, times.runsPerSecond, times.cpu].map(number);
  if (kill === undefined) return [...measured, NONE, NONE, NONE, NONE, NONE, NONE];
  const { unaccepted, completed, lost, doubled, whole, lastAfterS } = kill;
  return [...measured, ...[unaccepted, completed, lost, doubled, whole].map(String), number(lastAfterS)];
}
