/**
 * `npm run bench:proxy`: measures the cost of the proxy. In one run, it sends the same calls to the same upstreams
 * directly, through a bare pass-through (the peer), and through the service with all features on (key, permission,
 * schema, audit, telemetry, log). The upstreams answer with JSON and with event streams, over TCP and TLS. Each
 * upstream, the peer, the service, and the load generator are separate processes on loopback; all files are in a
 * temporary folder.
 *
 * --upstream <kinds>  some of minimal,json,stream,stateless,json-tls,stream-tls; or sdk, for all on the official SDK;
 *                     or all (all)
 * --seconds <n>       duration of each target in each round (0.4)
 * --rounds <n>        number of rounds; the results are medians (9)
 * --warm-up <n>       duration in seconds of each target before the first round (1.5)
 * --only <names>      some of direct,bare,before,ours
 * --against <folder>  another checkout with a current build, such as the previous commit; measured in the same
 *                     rounds as `before`
 * --oauth             also calls the service with an OAuth access token instead of an API key
 * --cpu-prof          profiles the service and prints where its main thread spent its time
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openWorkplace } from './lib/folder.mjs';
import { oauthToken } from './lib/oauth-token.mjs';
import { topOfProfile } from './lib/proxy-profile.mjs';
import { recordedCalls } from './lib/proxy-recorded.mjs';
import { cpuTable, latencyTable, methodOf, recordsLine, throughputTable } from './lib/proxy-report.mjs';
import { measureInTurns } from './lib/proxy-rounds.mjs';
import { OWNER, startBare, startOurs, startUpstream } from './lib/proxy-targets.mjs';
import { machine } from './lib/report.mjs';
import { kindsOf, makeCertificate, UPSTREAM_KINDS } from './lib/upstream-kinds.mjs';

const [ALONE, MANY] = [1, 16];

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '0.4' },
    rounds: { type: 'string', default: '9' },
    'warm-up': { type: 'string', default: '1.5' },
    only: { type: 'string', default: 'direct,bare,before,ours' },
    against: { type: 'string' },
    oauth: { type: 'boolean', default: false },
    upstream: { type: 'string', default: 'all' },
    'cpu-prof': { type: 'boolean', default: false },
  },
});
const [seconds, rounds] = [Number(values.seconds), Number(values.rounds)];
const only = values.only.split(',');
const isMeasured = (name) => only.includes(name);

const workplace = await openWorkplace();
const { folder, keep, subfolder } = workplace;
const profiles = join(folder, 'profiles');
const profiling = values['cpu-prof'] ? ['--cpu-prof', '--cpu-prof-dir', profiles] : [];
let measuredSince;

try {
  const kinds = kindsOf(values.upstream);
  const identity = kinds.some((kind) => UPSTREAM_KINDS[kind].tls) ? makeCertificate(folder) : undefined;
  const upstreams = {};
  for (const kind of kinds) upstreams[kind] = await keep(startUpstream(kind, { identity }));

  const measured = {};
  if (isMeasured('direct')) measured.direct = upstreams;
  if (isMeasured('bare')) measured.bare = (await keep(startBare(upstreams))).targets;
  if (isMeasured('before') && values.against) {
    const checkout = resolve(values.against);
    measured.before = (await keep(startOurs(upstreams, await subfolder('before'), { checkout }))).targets;
  }
  let records;
  if (isMeasured('ours')) {
    const ours = await keep(startOurs(upstreams, await subfolder('ours'), { nodeArgs: profiling }));
    measured.ours = ours.targets;
    records = ours.records;
    if (values.oauth) measured.oauth = await withOauthToken(ours.targets);
  }
  const targets = Object.fromEntries(
    kinds.map((kind) => [kind, Object.fromEntries(Object.entries(measured).map(([name, of]) => [name, of[kind]]))]),
  );

  console.log(`${machine()}\n`);
  const { figures, calls, since } = await measureInTurns(targets, {
    callers: [ALONE, MANY],
    rounds,
    ms: seconds * 1000,
    warmUpMs: Number(values['warm-up']) * 1000,
  });
  console.log(`${latencyTable(figures, ALONE)}\n\n${throughputTable(figures, MANY)}\n`);
  console.log(`${cpuTable(figures, ALONE)}\n\n${cpuTable(figures, MANY)}\n`);
  const recorded = (calls.ours ?? 0) + (calls.oauth ?? 0);
  if (records) console.log(`${recordsLine(recorded, await recordedCalls(records))}\n`);
  console.log(methodOf(rounds, seconds));
  measuredSince = since;
} finally {
  await workplace.stop();
  if (values['cpu-prof'] && measuredSince !== undefined) {
    console.log(`\n${await topOfProfile(profiles, measuredSince)}`);
  }
  await workplace.remove();
}

/** The same targets for callers who signed in. A token is valid for one endpoint. */
async function withOauthToken(targets) {
  const entries = [];
  for (const [kind, target] of Object.entries(targets)) {
    const authorization = `Bearer ${await oauthToken(target.url, OWNER)}`;
    entries.push([kind, { ...target, headers: { ...target.headers, authorization } }]);
  }
  return Object.fromEntries(entries);
}
