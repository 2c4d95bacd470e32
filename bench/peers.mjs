/**
 * `npm run bench:peers`: compares the proxy with other MCP proxies over `@modelcontextprotocol/server-everything`, an
 * upstream that answers with event streams: mcp-hub over HTTP; mcp-hub, mcp-proxy and supergateway over STDIO. The
 * callers are clients of the official SDK, each with its own session. The benchmark installs the peers from npm into
 * node_modules/.cache. Ours has all features on (key, permission, schema, audit, telemetry, log); the peers check and
 * record nothing.
 *
 * --seconds <n>  duration of each target in each round (0.5)
 * --rounds <n>   number of rounds (9)
 *
 * Then it compares agent servers, see `lib/agents/measure-agents.mjs`.
 *
 * --only <names> some of http,stdio and of the agent servers: those in
 *                `lib/agents/legs.mjs` (all)
 * --short        fewer and shorter rounds of the agent servers
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { LEGS } from './lib/agents/legs.mjs';
import { measureAgents } from './lib/agents/measure-agents.mjs';
import { openWorkplace } from './lib/folder.mjs';
import { postJson } from './lib/http-client.mjs';
import {
  EVERYTHING_PROGRAM,
  installPeers,
  PEER_TITLES,
  startEverything,
  startMcpHub,
  startMcpProxy,
  startSupergateway,
} from './lib/peer-proxies.mjs';
import { cpuSeconds } from './lib/proxy-process.mjs';
import { startOurs } from './lib/proxy-targets.mjs';
import { machine, quantile } from './lib/report.mjs';

const CALLERS = [1, 8];
const WARM_UP_MS = 2000;
/** Of the p50 of each peer (issue B4). */
const MOST_PART = 0.8;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '0.5' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: ['http', 'stdio', ...Object.keys(LEGS)].join() },
    short: { type: 'boolean', default: false },
  },
});
const [ms, rounds] = [Number(values.seconds) * 1000, Number(values.rounds)];
const isMeasured = (name) => values.only.split(',').includes(name);

console.log(`${machine()}\n`);
if (isMeasured('http') || isMeasured('stdio')) await measureProxies();
const agents = Object.keys(LEGS).filter(isMeasured);
if (agents.length > 0) await measureAgents(agents, values.short);

async function measureProxies() {
  await installPeers();
  const workplace = await openWorkplace();
  const callers = startCallers();
  try {
    const groups = await startGroups(workplace);
    for (const [group, targets] of Object.entries(groups)) {
      for (const [name, target] of Object.entries(targets)) await callers.open(`${group} ${name}`, target);
    }
    const figures = await measureInTurns(groups, callers);
    for (const group of Object.keys(groups)) for (const count of CALLERS) print(group, count, figures[group]);
    console.log(
      `p50 and p99 of all calls of ${rounds} rounds of ${ms / 1000} s, in which the targets take turns in another ` +
        'order each round.',
    );
    console.log('CPU is the time of the proxy process per call, without its programs (direct: of the upstream).');
  } finally {
    callers.stop();
    await workplace.stop();
    await workplace.remove();
  }
}

/** Targets by transport of the upstream and name. */
async function startGroups({ keep, subfolder }) {
  const everything = await keep(startEverything());
  const ours = await keep(startOurs({ http: everything }, await subfolder('ours')));
  const groups = {};
  if (isMeasured('http')) {
    groups.HTTP = {
      direct: everything,
      'mcp-hub': await keep(startMcpHub({ url: everything.url }, await subfolder('hub-http'))),
      ours: await connectionOf(ours, { connection_type: 'HTTP', connection_url: everything.url }),
    };
  }
  if (isMeasured('stdio')) {
    groups.STDIO = {
      'mcp-hub': await keep(startMcpHub(EVERYTHING_PROGRAM, await subfolder('hub-stdio'))),
      'mcp-proxy': await keep(startMcpProxy(EVERYTHING_PROGRAM)),
      supergateway: await keep(startSupergateway(EVERYTHING_PROGRAM)),
      ours: await connectionOf(ours, { connection_type: 'STDIO', stdio: EVERYTHING_PROGRAM }),
    };
  }
  return groups;
}

/** A connection, and a key that can call one of its tools. */
async function connectionOf({ origin, pid, records: { tools, bootstrapHeaders } }, data) {
  const { item } = await postJson(`${tools}/COLLECTION_CONNECTIONS_CREATE`, bootstrapHeaders, {
    data: { title: `Everything ${data.connection_type}`, ...data },
  });
  const permissions = { [item.id]: ['echo'] };
  const { key } = await postJson(`${tools}/API_KEY_CREATE`, bootstrapHeaders, { name: item.title, permissions });
  const url = `${origin}/api/default/mcp/${item.id}`;
  return { url, transport: 'http', pid, headers: { authorization: `Bearer ${key}` } };
}

async function measureInTurns(groups, callers) {
  const figures = {};
  for (let round = -1; round < rounds; round++) {
    for (const count of CALLERS) {
      for (const [group, targets] of Object.entries(groups)) {
        const names = Object.keys(targets);
        for (let turn = 0; turn < names.length; turn++) {
          const name = names[(round + 1 + turn) % names.length];
          const before = cpuSeconds(targets[name].pid);
          const times = await callers.measure(`${group} ${name}`, count, round < 0 ? WARM_UP_MS : ms);
          if (round < 0) continue;
          const figure = (((figures[group] ??= {})[name] ??= {})[count] ??= { times: [], p50s: [], cpu: 0 });
          figure.times.push(...times);
          figure.p50s.push(quantile(times, 0.5));
          figure.cpu += cpuSeconds(targets[name].pid) - before;
        }
      }
    }
  }
  return figures;
}

function print(group, count, figures) {
  console.log(
    `${`${group}, ${count} caller${count === 1 ? '' : 's'}`.padEnd(24)} p50, ms     p99   CPU, us   ours / peer`,
  );
  const ours = figures.ours[count];
  for (const [name, ofName] of Object.entries(figures)) {
    const { times, p50s, cpu } = ofName[count];
    const cells = [
      quantile(times, 0.5).toFixed(3),
      quantile(times, 0.99).toFixed(2),
      ((cpu / times.length) * 1e6).toFixed(0),
    ];
    // The comparisons within a round: other load on the machine affects both.
    const part = quantile(
      ours.p50s.map((p50, i) => p50 / p50s[i]),
      0.5,
    );
    const verdict =
      PEER_TITLES[name] === undefined ? '' : part <= MOST_PART ? `met (<= ${MOST_PART})` : `MISSED (<= ${MOST_PART})`;
    const ratio = name === 'ours' ? '' : part.toFixed(2);
    const [p50, p99, micros] = cells;
    console.log(
      `  ${(PEER_TITLES[name] ?? name).padEnd(22)} ` +
        `${p50.padStart(7)}${p99.padStart(8)}${micros.padStart(10)}${ratio.padStart(14)}  ${verdict}`.trimEnd(),
    );
  }
  console.log('');
}

/** The process with the SDK clients. */
function startCallers() {
  const child = fork(new URL('lib/peers-caller.mjs', import.meta.url), { stdio: 'inherit' });
  const died = once(child, 'exit').then(() => ({ error: 'The callers exited.' }));
  const ask = async (job) => {
    child.send(job);
    const answer = await Promise.race([once(child, 'message').then(([message]) => message), died]);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  };
  return {
    open: (name, { url, transport, headers }) =>
      ask({ open: { name, url, transport, headers, callers: Math.max(...CALLERS) } }),
    measure: async (name, count, forMs) => (await ask({ measure: { name, callers: count, ms: forMs } })).times,
    stop: () => child.disconnect(),
  };
}
