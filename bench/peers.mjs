/**
 * `npm run bench:peers`: compares the proxy with other MCP proxies over `@modelcontextprotocol/server-everything`, an
 * upstream that answers with event streams; they are in `lib/proxies/peers.mjs`. The callers are clients of the
 * official SDK, each with its own session. The benchmark installs the peers from npm into node_modules/.cache. Ours has
 * all features on (key, permission, schema, audit, telemetry, log); the peers check and record nothing. A call costs
 * `server-everything` more at a later protocol revision, so the table says which is spoken on both sides, and direct
 * calls and ours are measured at two.
 *
 * --seconds <n>  duration of each target in each round (0.5)
 * --rounds <n>   number of rounds (9)
 *
 * Then it compares agent servers, see `lib/agents/measure-agents.mjs`.
 *
 * --only <names> some of http,stdio and of the agent servers: those in
 *                `lib/agents/legs.mjs` (all); `none` measures nothing
 * --short        fewer and shorter rounds of the agent servers
 * --write        keeps the figures in bench/results/peers.json, and writes
 *                the tables and pictures of docs/benchmarks.md from them
 *
 * A peer that fails says why; the others continue. If all of one kind fail, the exit code is 1.
 */
import { parseArgs } from 'node:util';
import { printAgents } from './lib/agents/figures.mjs';
import { LEGS } from './lib/agents/legs.mjs';
import { measureAgents } from './lib/agents/measure-agents.mjs';
import { printProxies } from './lib/proxies/figures.mjs';
import { measureProxies } from './lib/proxies/measure-proxies.mjs';
import { machine } from './lib/report.mjs';
import { keepResults, writeDocs } from './lib/results/peers-results.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '0.5' },
    rounds: { type: 'string', default: '9' },
    only: { type: 'string', default: ['http', 'stdio', ...Object.keys(LEGS)].join() },
    short: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const only = values.only.split(',');

console.log(`${machine()}\n`);
const upstreams = ['HTTP', 'STDIO'].filter((kind) => only.includes(kind.toLowerCase()));
if (upstreams.length > 0) {
  await section('proxies', async () => {
    const extent = { ms: Number(values.seconds) * 1000, rounds: Number(values.rounds) };
    const proxies = await measureProxies(upstreams, extent);
    printProxies(proxies);
    return { proxies };
  });
}
const agents = Object.keys(LEGS).filter((name) => only.includes(name));
if (agents.length > 0) {
  await section('agent servers', async () => {
    const figures = await measureAgents(agents, values.short);
    printAgents(figures);
    return { agents: figures };
  });
}
if (values.write) await writeDocs();

/** Measures one kind of peers. If it fails, the next is measured all the same. */
async function section(title, measure) {
  try {
    const results = await measure();
    if (values.write) await keepResults(results);
  } catch (error) {
    console.error(`The ${title} could not be measured:`, error);
    process.exitCode = 1;
  }
}
