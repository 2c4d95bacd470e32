import { loadavg } from 'node:os';
import { openWorkplace } from '../folder.mjs';
import { postJson } from '../http-client.mjs';
import { cpuSeconds } from '../proxy-process.mjs';
import { startOurs } from '../proxy-targets.mjs';
import { machine } from '../report.mjs';
import { turnsOf } from '../turns.mjs';
import { startCallers } from './callers.mjs';
import { figuresOf } from './figures.mjs';
import { startEverything } from './everything.mjs';
import { installPeer, PEERS, titleOf } from './peers.mjs';

/** Numbers of callers, each measured on its own. */
export const CALLERS = [1, 8];
const WARM_UP_MS = 2000;
/**
 * The revision of mcp-hub's sessions at its upstreams. Clients of the SDK, other proxies among them, ask for a later
 * one.
 */
const OLDER = '2025-06-18';

/**
 * Measures proxies over `server-everything`, which take turns in rounds, each in another order. A leg that fails says
 * why, and the others continue.
 * @param {('HTTP' | 'STDIO')[]} upstreams kinds of connection with the upstream
 * @param {{ rounds: number, ms: number }} extent milliseconds of each leg in each round, per number of callers
 * @returns {Promise<import('./figures.mjs').ProxyFigures>}
 */
export async function measureProxies(upstreams, extent) {
  const workplace = await openWorkplace();
  const callers = startCallers();
  const load = [loadavg()[0]];
  try {
    const everything = await workplace.keep(startEverything(await workplace.subfolder('everything')));
    const legs = await openLegs(upstreams, { everything, workplace, callers });
    everything.stopRecording();
    for (let round = -1; round < extent.rounds; round++) {
      for (const count of CALLERS) {
        for (const upstream of upstreams) await measureTurns(legs, { upstream, count, round, callers, ms: extent.ms });
      }
    }
    load.push(loadavg()[0]);
    return {
      measured: new Date().toISOString().slice(0, 10),
      machine: machine(),
      load,
      ...extent,
      legs: figuresOf(legs),
    };
  } finally {
    callers.stop();
    await workplace.stop();
    await workplace.remove();
  }
}

/** Opens the legs one after the other, so that the sessions at the upstream are known to be of one. */
async function openLegs(upstreams, { everything, workplace, callers }) {
  const legs = [];
  const open = async (upstream, name, start, rest = {}) => {
    const leg = { upstream, name, title: name, ...rest, byCallers: {} };
    legs.push(leg);
    console.log(`Opens ${upstream} ${leg.title} ...`);
    await attempt(leg, async () => {
      leg.target = { ...(await start()), revision: leg.asks };
      const atStart = everything.takeRevision();
      leg.callerRevision = await callers.open(nameOf(leg), leg.target, Math.max(...CALLERS));
      // The sessions of a hub are its own, and older than those of its callers.
      leg.upstreamRevision = everything.takeRevision() ?? atStart;
    });
  };
  const ours = oncePrepared(async () =>
    workplace.keep(startOurs({ http: everything }, await workplace.subfolder('ours'))),
  );
  for (const upstream of upstreams) {
    const isHttp = upstream === 'HTTP';
    // Each leg has its own connection and key: a key can have few programs at a time.
    const own = async () => connectionOf(await ours(), isHttp ? everything : everything.program);
    const ofBoth = async (name, start) => {
      await open(upstream, name, start);
      await open(upstream, `${name}, ${OLDER}`, start, { asks: OLDER });
    };
    if (isHttp) await ofBoth('direct', () => everything);
    for (const [name, peer] of Object.entries(PEERS).filter(([, { upstreams: each }]) => each.includes(upstream))) {
      const start = async () => {
        await installPeer(name);
        const folder = await workplace.subfolder(`${upstream}-${name.replace('/', '-')}`);
        return workplace.keep(peer.start(isHttp ? { url: everything.url } : everything.program, folder));
      };
      await open(upstream, name, start, { title: titleOf(name), leaves: peer.leaves });
    }
    await ofBoth('ours', own);
  }
  return legs;
}

async function measureTurns(legs, { upstream, count, round, callers, ms }) {
  const all = legs.filter((leg) => leg.upstream === upstream);
  for (const leg of turnsOf(round + 1, all)) {
    await attempt(leg, async () => {
      const before = cpuSeconds(leg.target.pid);
      const times = await callers.measure(nameOf(leg), count, round < 0 ? WARM_UP_MS : ms);
      if (round < 0) return;
      const figure = (leg.byCallers[count] ??= { times: [], rounds: [], cpu: 0 });
      figure.times.push(...times);
      figure.rounds.push(times);
      figure.cpu += cpuSeconds(leg.target.pid) - before;
    });
  }
}

const nameOf = ({ upstream, name }) => `${upstream} ${name}`;

/** Works with a leg unless it has failed before. */
async function attempt(leg, work) {
  if (leg.failed !== undefined) return;
  try {
    await work();
  } catch (error) {
    leg.failed = error.message.split('\n')[0];
    console.log(`${nameOf(leg)} failed: ${error.message}`);
  }
}

/** Calls `prepare` when it is needed, and once. */
function oncePrepared(prepare) {
  let prepared;
  return () => (prepared ??= prepare());
}

/** A connection of ours with the upstream, and a key that can call one of its tools. */
async function connectionOf({ origin, pid, records: { tools, bootstrapHeaders } }, { url, command, args }) {
  const kind = url === undefined ? 'STDIO' : 'HTTP';
  const data = url === undefined ? { stdio: { command, args } } : { connection_url: url };
  const { item } = await postJson(`${tools}/COLLECTION_CONNECTIONS_CREATE`, bootstrapHeaders, {
    data: { title: `Everything ${kind}`, connection_type: kind, ...data },
  });
  const permissions = { [item.id]: ['echo'] };
  const { key } = await postJson(`${tools}/API_KEY_CREATE`, bootstrapHeaders, { name: item.title, permissions });
  const headers = { authorization: `Bearer ${key}` };
  return { url: `${origin}/api/default/mcp/${item.id}`, transport: 'http', pid, headers };
}
