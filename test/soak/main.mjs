/**
 * The endurance test: clients that never end their sessions, clients that hang up, connections edited while used, and
 * runs at full speed. Afterwards, the service must hold what it held before. Prints a table; exits with 1 if something
 * has not come back.
 *
 *   npm run test:soak                                    10,000 sessions, 10,000 hang-ups, 1,000 edits, an hour of runs
 *   npm run test:soak -- --sessions 500 --hang-ups 500 --edits 50 --seconds 30
 */
import { parseArgs } from 'node:util';
import { editWhileUsed, hangUp, initializeAndLeave, runAtFullSpeed } from './scenarios.mjs';
import { startSoak } from './soak-service.mjs';

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '10000' },
    'hang-ups': { type: 'string', default: '10000' },
    edits: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '3600' },
  },
});
const [sessions, hangUps, edits, seconds] = [values.sessions, values['hang-ups'], values.edits, values.seconds].map(
  Number,
);

/** Caches that are limited must be full before the first measurement: the same work, in part. */
const WARM_UP = 0.25;
const WARM_UP_RUNS_S = 120;
/** How much more may be held afterwards. The heap varies by a few MiB with the code that was compiled meanwhile. */
const ALLOWED = {
  heapMiB: 16,
  fds: 16,
  children: 0,
  resources: 24,
  listeners: 64,
  gatewaySessions: 2,
  waitingCalls: 0,
  liveRows: 0,
};

const soak = await startSoak();
let failed = false;
try {
  const work = async (part) => {
    await initializeAndLeave(soak, Math.ceil(sessions * part));
    await hangUp(soak, Math.ceil(hangUps * part));
    await editWhileUsed(soak, Math.ceil(edits * part));
    return runAtFullSpeed(soak, part === 1 ? seconds : Math.min(seconds * part, WARM_UP_RUNS_S));
  };
  await work(WARM_UP);
  const before = await soak.settled(undefined, ALLOWED);
  const watch = soak.watchPeak();
  const startedAt = performance.now();
  const runs = await work(1);
  const minutes = (performance.now() - startedAt) / 60_000;
  const peak = await watch.stop();
  const after = await soak.settled(before, ALLOWED);
  console.log(
    `${sessions} sessions, ${hangUps} hang-ups, ${edits} edits, ${runs} runs in ${minutes.toFixed(1)} minutes`,
  );
  const rows = Object.keys(after).map((name) => {
    const isHeld = name in ALLOWED;
    const hasComeBack = !isHeld || after[name] - before[name] <= ALLOWED[name];
    failed ||= !hasComeBack;
    const verdict = !isHeld ? '(not judged)' : hasComeBack ? 'came back' : `MORE THAN ${ALLOWED[name]} ABOVE`;
    return [name, before[name], peak[name] ?? '', after[name], verdict];
  });
  for (const row of [['', 'before', 'peak', 'after', ''], ...rows]) {
    console.log(
      row.map((cell, i) => (i === 0 || i === 4 ? String(cell).padEnd(18) : String(cell).padStart(8))).join('  '),
    );
  }
} finally {
  await soak.stop();
}
process.exitCode = failed ? 1 : 0;
