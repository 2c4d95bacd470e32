/**
 * `npm run bench:gateway`: measures the cost of an agent. In one run, it sends the same tool call and the same list request
 * to the upstream directly, through the proxy, and through agents with 1, 5, and 20 connections of ten tools each. It also
 * measures an agent with one upstream that takes 3 s to list its tools and one that is down. Everything runs on loopback, in
 * a temporary folder.
 *
 * --seconds <n>       duration of each row (5); the targets alternate call by call
 * --against <folder>  another checkout with a current build, such as the previous commit; measures its proxy and agents too
 */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Child } from './lib/child.mjs';
import { Caller } from './lib/gateway-caller.mjs';
import { postJson } from './lib/http-client.mjs';
import { cpuSeconds } from './lib/proxy-process.mjs';
import { startOurs, startUpstream } from './lib/proxy-targets.mjs';
import { machine, quantile } from './lib/report.mjs';

const TOOLS = 10;
/** Rounds of the throughput measurement. Every other round takes the targets in reverse order; the result is the median. */
const ROUNDS = 6;
const SLOW_MS = 3000;
const DEAD_URL = 'http://127.0.0.1:9/mcp';
/** The targets of issue A3. */
const MOST_ADDED_MS = 0.3;
const MOST_LIST_MS = 2;
const ARGUMENTS = { text: 'The quick brown fox jumps over the lazy dog, again and again....' };
const MCP_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' }, against: { type: 'string' } } });
const ms = Number(values.seconds) * 1000;
const folder = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
// The embedded server can run as another user, who needs to traverse the folder.
await chmod(folder, 0o711);
const started = [];

try {
  const [upstream, slow] = [await startTools(0), await startTools(SLOW_MS)];
  const bare = await keep(startUpstream());
  const ours = await startTargets(bare, upstream, slow, {});
  const before = values.against && (await startTargets(bare, upstream, slow, { checkout: resolve(values.against) }));
  const targets = {
    direct: { url: `${upstream}/mcp`, headers: MCP_HEADERS, name: 'tool_0' },
    ...ours,
    ...(before && Object.fromEntries(Object.entries(before).map(([title, target]) => [`${title} (before)`, target]))),
  };
  console.log(`${machine()}\n`);
  console.log(`First list, ms (cold, ${TOOLS} tools per upstream):`);
  for (const [title, target] of Object.entries(targets).filter(([title]) => !/^direct|^proxy/.test(title))) {
    const caller = new Caller(target);
    const { ms: first, text } = await caller.time('tools/list', {});
    const found = text.match(/"inputSchema"/g)?.length ?? 0;
    console.log(`  ${title.padEnd(24)}${first.toFixed(0).padStart(8)}   ${found} tools`);
    caller.close();
  }

  const [calls, lists] = [await inTurns(targets, call), await inTurns(targets, list)];
  print(
    'tools/call, p50 ms, 1 caller',
    calls,
    (p50) => p50 - calls.proxy.p50 <= MOST_ADDED_MS,
    `proxy + ${MOST_ADDED_MS}`,
  );
  print('tools/list, p50 ms, 1 caller, warm', lists, (p50) => p50 < MOST_LIST_MS, `< ${MOST_LIST_MS}`);
  await underLoad(targets);
} finally {
  for (const target of started.toReversed()) await target.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Starts the service of a checkout, with a connection and agents with an increasing number of connections. */
async function startTargets(bare, upstream, slow, options) {
  const data = join(folder, options.checkout === undefined ? 'ours' : 'before');
  await mkdir(data, { mode: 0o711 });
  const service = await keep(startOurs(bare, data, options));
  const { pid, records } = service;
  const { tools, bootstrapHeaders } = records;
  const origin = new URL(service.url).origin;
  const create = async (kind, item) =>
    (await postJson(`${tools}/COLLECTION_${kind}_CREATE`, bootstrapHeaders, { data: item })).item.id;
  const connectTo = (url, title) => create('CONNECTIONS', { connection_type: 'HTTP', title, connection_url: url });
  const agentOver = async (ids) => {
    const connections = ids.map((connection_id, i) => ({ connection_id, prefix: `c${i}` }));
    const id = await create('VIRTUAL_MCP', { title: `Over ${ids.length}`, connections });
    return `${origin}/api/default/mcp/gateway/${id}`;
  };
  const headers = { ...MCP_HEADERS, ...bootstrapHeaders };
  const ids = [];
  for (let i = 0; i < 20; i++) ids.push(await connectTo(`${upstream}/mcp`, `Upstream ${i}`));
  const [late, dead] = [await connectTo(`${slow}/mcp`, 'Slow'), await connectTo(DEAD_URL, 'Dead')];
  const others = [];
  for (let i = 0; i < 18; i++) others.push(await connectTo(`${upstream}/mcp`, `Other ${i}`));
  return {
    proxy: { url: `${origin}/api/default/mcp/${ids[0]}`, headers, pid, name: 'tool_0' },
    'agent, 1': { url: await agentOver(ids.slice(0, 1)), headers, pid, name: 'tool_0' },
    'agent, 5': { url: await agentOver(ids.slice(0, 5)), headers, pid, name: 'c0_tool_0' },
    'agent, 20': { url: await agentOver(ids), headers, pid, name: 'c0_tool_0' },
    '18, slow, dead': { url: await agentOver([...others, late, dead]), headers, pid, name: 'c0_tool_0' },
  };
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
  console.log(`\n${title}${' '.repeat(Math.max(1, 48 - title.length))}p99`);
  for (const [name, { p50, p99 }] of Object.entries(figures)) {
    const verdict = name === 'direct' || name.startsWith('proxy') ? '' : `   ${isMet(p50) ? 'met' : 'MISSED'} (${aim})`;
    console.log(`  ${name.padEnd(24)}${p50.toFixed(3).padStart(8)}${p99.toFixed(3).padStart(18)}${verdict}`);
  }
}

async function startTools(listMs) {
  const path = fileURLToPath(new URL('lib/gateway-upstream.mjs', import.meta.url));
  const child = new Child(process.execPath, [path, String(TOOLS), String(listMs)], { NODE_ENV: 'production' });
  started.push(child);
  return child.line(/^listening on (\S+)/);
}

/** Registers a target that must be stopped at the end. */
async function keep(starting) {
  const target = await starting;
  started.push(target);
  return target;
}
