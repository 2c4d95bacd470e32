/**
 * `npm run bench:proxy`: measures the cost of the proxy. In one run, it sends the same calls to the same upstream directly,
 * through a bare pass-through (the peer), and through the service with all features on (key, permission, schema, audit,
 * telemetry, log). Upstream, peer, service, and load generator are separate processes on loopback; all files are in a
 * temporary folder.
 *
 * --seconds <n>       duration of each target in each round (1)
 * --rounds <n>        number of rounds; the results are medians (25)
 * --only <names>      some of direct,bare,before,ours
 * --against <folder>  another checkout with a current build, such as the previous commit; measured in the same rounds as `before`
 * --oauth             also calls the service with an OAuth access token instead of an API key
 * --upstream sdk      an upstream on the official SDK, which answers with event streams, instead of a minimal one
 * --cpu-prof          profiles the service and prints where its main thread spent its time
 */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { oauthToken } from './lib/oauth-token.mjs';
import { topOfProfile } from './lib/proxy-profile.mjs';
import { recordedCalls } from './lib/proxy-recorded.mjs';
import { methodOf, proxyTable, recordsLine } from './lib/proxy-report.mjs';
import { measureInTurns } from './lib/proxy-rounds.mjs';
import { OWNER, startBare, startOurs, startUpstream } from './lib/proxy-targets.mjs';
import { machine } from './lib/report.mjs';

const CALLERS = [1, 16];

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '25' },
    only: { type: 'string', default: 'direct,bare,before,ours' },
    against: { type: 'string' },
    oauth: { type: 'boolean', default: false },
    upstream: { type: 'string', default: 'bare' },
    'cpu-prof': { type: 'boolean', default: false },
  },
});
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
const only = values.only.split(',');
const isMeasured = (name) => only.includes(name);

const folder = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
// The embedded server can run as another user, who needs to traverse the folder.
await chmod(folder, 0o711);
const profiles = join(folder, 'profiles');
const profiling = values['cpu-prof'] ? ['--cpu-prof', '--cpu-prof-dir', profiles] : [];
const started = [];
let measuredSince;

try {
  const upstream = await keep(startUpstream(values.upstream));
  const targets = {};
  if (isMeasured('direct')) targets.direct = upstream;
  if (isMeasured('bare')) targets.bare = await keep(startBare(upstream));
  if (isMeasured('before') && values.against) {
    targets.before = await keep(startOurs(upstream, await subfolder('before'), { checkout: resolve(values.against) }));
  }
  if (isMeasured('ours')) {
    targets.ours = await keep(startOurs(upstream, await subfolder('ours'), { nodeArgs: profiling }));
    if (values.oauth) {
      const token = await oauthToken(targets.ours.url, OWNER);
      targets.oauth = { ...targets.ours, headers: { ...targets.ours.headers, authorization: `Bearer ${token}` } };
    }
  }

  console.log(`${machine()}\n`);
  const { figures, calls, since } = await measureInTurns(targets, { callers: CALLERS, rounds, ms: seconds * 1000 });
  for (const callers of CALLERS) console.log(`${proxyTable(figures, callers)}\n`);
  const recorded = (calls.ours ?? 0) + (calls.oauth ?? 0);
  if (targets.ours) console.log(`${recordsLine(recorded, await recordedCalls(targets.ours.records))}\n`);
  console.log(methodOf(rounds, seconds));
  measuredSince = since;
} finally {
  for (const target of started.toReversed()) await target.stop();
  if (values['cpu-prof'] && measuredSince !== undefined) {
    console.log(`\n${await topOfProfile(profiles, measuredSince)}`);
  }
  await rm(folder, { recursive: true, force: true });
}

async function subfolder(name) {
  const path = join(folder, name);
  await mkdir(path, { mode: 0o711 });
  return path;
}

/** Registers a target that must be stopped at the end. */
async function keep(starting) {
  const target = await starting;
  started.push(target);
  return target;
}
