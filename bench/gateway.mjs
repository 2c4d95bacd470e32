/**
 * `npm run bench:gateway`: measures the cost of an agent. In one run, it sends the same tool call and the same list
 * request to the upstream directly, through a bare pass-through, through the proxy, and through agents with 1, 5, and
 * 20 connections of ten tools each. It also measures an agent with one upstream that takes 3 s to list its tools and
 * one that is down. Calls are also measured with upstreams on the official SDK, which answer with JSON and with event
 * streams, over TCP and TLS. Everything runs on loopback, in a temporary folder.
 *
 * --upstream <kinds>  some of minimal,json,stream,stateless,json-tls,stream-tls; or sdk, for all on the official SDK;
 *                     or all (all)
 * --seconds <n>       duration of each row (4); the targets alternate call by call
 * --against <folder>  another checkout with a current build, such as the previous commit; measures its proxy and
 *                     agents too
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openWorkplace } from './lib/folder.mjs';
import { Child } from './lib/child.mjs';
import { Caller } from './lib/gateway-caller.mjs';
import { postJson } from './lib/http-client.mjs';
import { cpuSeconds } from './lib/proxy-process.mjs';
import { MCP_HEADERS, startBare, startOurs, startUpstream } from './lib/proxy-targets.mjs';
import { machine, quantile } from './lib/report.mjs';
import { kindsOf, makeCertificate, UPSTREAM_KINDS } from './lib/upstream-kinds.mjs';

const TOOLS = 10;
/**
 * Rounds of the throughput measurement. Every other round takes the targets in reverse order; the result is the median.
 */
const ROUNDS = 6;
const SLOW_MS = 3000;
const DEAD_URL = 'http://127.0.0.1:9/mcp';
/** The targets of issue A3. */
const MOST_ADDED_MS = 0.3;
const MOST_LIST_MS = 2;
const ARGUMENTS = { text: 'The quick brown fox jumps over the lazy dog, again and again....' };

const { values } = parseArgs({
  options: {
    upstream: { type: 'string', default: 'all' },
    seconds: { type: 'string', default: '4' },
    against: { type: 'string' },
  },
});
const ms = Number(values.seconds) * 1000;
const workplace = await openWorkplace();
const { folder, keep, subfolder } = workplace;

try {
  const kinds = kindsOf(values.upstream);
  const identity = kinds.some((kind) => UPSTREAM_KINDS[kind].tls) ? makeCertificate(folder) : undefined;
  const names = Array.from({ length: TOOLS }, (_, i) => `tool_${i}`).join(',');
  const upstreams = {};
  for (const kind of kinds) {
    upstreams[kind] = await keep(kind === 'minimal' ? startTools(0) : startUpstream(kind, { tools: names, identity }));
  }
  const bare = await keep(startBare(upstreams, ['tool_0']));
  const ours = await startService(upstreams, {});
  const before = values.against && (await startService(upstreams, { checkout: resolve(values.against) }));
  console.log(`${machine()}\n`);
  for (const kind of kinds) {
    const targets = {
      direct: { ...upstreams[kind], name: 'tool_0' },
      bare: { ...bare.targets[kind], name: 'tool_0' },
      ...(await ours.targetsOf(kind)),
      ...(before && renamed(await before.targetsOf(kind))),
    };
    const calls = await inTurns(targets, call);
    print(
      `tools/call, p50 ms, 1 caller: ${UPSTREAM_KINDS[kind].title}`,
      calls,
      (p50) => p50 - calls.proxy.p50 <= MOST_ADDED_MS,
      `proxy + ${MOST_ADDED_MS}`,
    );
  }
  if (kinds.includes('minimal')) {
    const slow = await keep(startTools(SLOW_MS));
    const targets = {
      direct: { ...upstreams.minimal, name: 'tool_0' },
      ...(await ours.targetsOf('minimal', slow)),
      ...(before && renamed(await before.targetsOf('minimal', slow))),
    };
    await printFirstLists(targets);
    const lists = await inTurns(targets, list);
    print('tools/list, p50 ms, 1 caller, warm', lists, (p50) => p50 < MOST_LIST_MS, `< ${MOST_LIST_MS}`);
    await underLoad(targets);
  }
} finally {
  await workplace.stop();
  await workplace.remove();
}

/** Starts the service of a checkout. */
async function startService(upstreams, options) {
  const data = await subfolder(options.checkout === undefined ? 'ours' : 'before');
  const { origin, pid, records } = await keep(startOurs(upstreams, data, options));
  const { tools, bootstrapHeaders } = records;
  const create = async (kind, item) =>
    (await postJson(`${tools}/COLLECTION_${kind}_CREATE`, bootstrapHeaders, { data: item })).item.id;
  const connectTo = (url, title) => create('CONNECTIONS', { connection_type: 'HTTP', title, connection_url: url });
  const agentOver = async (ids) => {
    const connections = ids.map((connection_id, i) => ({ connection_id, prefix: `c${i}` }));
    const id = await create('VIRTUAL_MCP', { title: `Over ${ids.length}`, connections });
    return `${origin}/api/default/mcp/gateway/${id}`;
  };
  const headers = { ...MCP_HEADERS, ...bootstrapHeaders };
  const connectTimes = async (count, url, title) => {
    const ids = [];
    for (let i = 0; i < count; i++) ids.push(await connectTo(url, `${title} ${i}`));
    return ids;
  };
  return {
    /**
     * The connection and the agents over an upstream.
     * @param slow adds agents over many connections, and over this upstream
     */
    async targetsOf(kind, slow) {
      const { url } = upstreams[kind];
      const ids = await connectTimes(slow === undefined ? 5 : 20, url, kind);
      const target = (of, name) => ({ url: of, headers, pid, name });
      const targets = {
        proxy: target(`${origin}/api/default/mcp/${ids[0]}`, 'tool_0'),
        'agent, 1': target(await agentOver(ids.slice(0, 1)), 'tool_0'),
        'agent, 5': target(await agentOver(ids.slice(0, 5)), 'c0_tool_0'),
      };
      if (slow === undefined) return targets;
      const others = await connectTimes(18, url, 'Other');
      const [late, dead] = [await connectTo(slow.url, 'Slow'), await connectTo(DEAD_URL, 'Dead')];
      return {
        ...targets,
        'agent, 20': target(await agentOver(ids), 'c0_tool_0'),
        '18, slow, dead': target(await agentOver([...others, late, dead]), 'c0_tool_0'),
      };
    },
  };
}

function renamed(targets) {
  return Object.fromEntries(Object.entries(targets).map(([title, target]) => [`${title} (before)`, target]));
}

async function printFirstLists(targets) {
  console.log(`\nFirst list, ms (cold, ${TOOLS} tools per upstream):`);
  for (const [title, target] of Object.entries(targets).filter(([name]) => !/^direct|^proxy/.test(name))) {
    const caller = new Caller(target);
    const { ms: first, text } = await caller.time('tools/list', {});
    const found = text.match(/"inputSchema"/g)?.length ?? 0;
    console.log(`  ${title.padEnd(24)}${first.toFixed(0).padStart(8)}   ${found} tools`);
    caller.close();
  }
}

function call(caller, { name }) {
  return caller.time('tools/call', { name, arguments: ARGUMENTS });
}

function list(caller) {
  return caller.time('tools/list', {});
}

/** Alternates between the targets request by request, so that other load on the machine affects all of them. */
async function inTurns(targets, ask) {
  const runs = Object.entries(targets).map(([title, target]) => ({
    title,
    target,
    caller: new Caller(target),
    times: [],
  }));
  for (let i = 0; i < 300; i++) for (const { caller, target } of runs) await ask(caller, target);
  const until = performance.now() + ms;
  while (performance.now() < until) {
    for (const { caller, target, times } of runs) times.push((await ask(caller, target)).ms);
  }
  for (const { caller } of runs) caller.close();
  return Object.fromEntries(
    runs.map(({ title, times }) => [title, { p50: quantile(times, 0.5), p99: quantile(times, 0.99) }]),
  );
}

/** Prints the requests per second with 16 callers, and the CPU time of the service per request. */
async function underLoad(targets) {
  const loaded = Object.entries(targets).filter(([title]) => !/^direct|dead/.test(title));
  // Each target stands next to the one that it is compared with.
  loaded.sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  const figures = Object.fromEntries(loaded.map(([title]) => [title, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [title, target] of round % 2 === 0 ? loaded : loaded.toReversed()) {
      const measured = await throughput(target);
      // The first round warms up both ends.
      if (round > 0) figures[title].push(measured);
    }
  }
  console.log('\ntools/call, requests per second, 16 callers     CPU, us per request');
  for (const [title, ofRounds] of Object.entries(figures)) {
    const [rate, cpu] = ['rate', 'cpu'].map((figure) =>
      quantile(
        ofRounds.map((measured) => measured[figure]),
        0.5,
      ),
    );
    console.log(`  ${title.padEnd(24)}${rate.toFixed(0).padStart(8)}${cpu.toFixed(0).padStart(18)}`);
  }
}

async function throughput(target) {
  const cpuBefore = cpuSeconds(target.pid);
  const until = performance.now() + ms;
  let count = 0;
  const callers = Array.from({ length: 16 }, () => new Caller(target));
  await Promise.all(
    callers.map(async (caller) => {
      for (; performance.now() < until; count++) await call(caller, target);
      caller.close();
    }),
  );
  return { rate: (count / ms) * 1000, cpu: ((cpuSeconds(target.pid) - cpuBefore) / count) * 1e6 };
}

function print(title, figures, isMet, aim) {
  console.log(`\n${title}\n${' '.repeat(24)}     p50               p99`);
  for (const [name, { p50, p99 }] of Object.entries(figures)) {
    const verdict = /^direct|^bare|^proxy/.test(name) ? '' : `   ${isMet(p50) ? 'met' : 'MISSED'} (${aim})`;
    console.log(`  ${name.padEnd(24)}${p50.toFixed(3).padStart(8)}${p99.toFixed(3).padStart(18)}${verdict}`);
  }
}

async function startTools(listMs) {
  const path = fileURLToPath(new URL('lib/gateway-upstream.mjs', import.meta.url));
  const child = new Child(process.execPath, [path, String(TOOLS), String(listMs)], { NODE_ENV: 'production' });
  const url = `${await child.line(/^listening on (\S+)/)}/mcp`;
  return { url, headers: MCP_HEADERS, pid: child.pid, stop: () => child.stop() };
}
