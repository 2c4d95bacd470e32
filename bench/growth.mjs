/**
 * `npm run bench:growth`: measures how the cost of runs, of calls and of the console's views grows. It starts one
 * service for each size, on PostgreSQL databases that hold more organizations, and one organization with more agents or
 * connections, and measures all of them in the same rounds.
 *
 * --sizes <n,…>    the numbers of organizations (1,100,10000)
 * --rounds <n>     number of rounds (5)
 * --idle <s>       how long background work is measured, in seconds (60)
 * --only <names>   some of starts,background,runs,calls,views (all)
 */
import { parseArgs } from 'node:util';
import { measureBackground } from './lib/background.mjs';
import { onDatabase, withPostgres } from './lib/databases.mjs';
import { GrowingInstallation } from './lib/growing-installation.mjs';
import { EventReader, postJson } from './lib/http-client.mjs';
import { measureLatency, measureThroughput } from './lib/measure.mjs';
import { residentMebibytes } from './lib/proxy-process.mjs';
import { measureInTurns } from './lib/proxy-rounds.mjs';
import { startUpstream } from './lib/proxy-targets.mjs';
import { counted, layOut, machine, number, quantile, ratio } from './lib/report.mjs';
import { turnsOf } from './lib/turns.mjs';
import { timeView, VIEW_NAMES } from './lib/view-requests.mjs';

const AGENTS = { title: '1,000 agents', database: 'agents', organizations: 1, agents: 1_000, connections: 100 };
const CONNECTIONS = {
  title: '5,000 connections',
  database: 'connections',
  organizations: 1,
  agents: 80,
  connections: 4_900,
};
/** Over how many organizations calls are spread. */
const SPREAD = [16, 900, 2_000];

const [ALONE, MANY] = [1, 16];
const STARTS = 3;
const WARM_UP_RUNS = 10;
const LATENCY_RUNS = 15;
const THROUGHPUT_MS = 1_500;
const CALLS_MS = 400;
const CALLS_WARM_UP_MS = 1_000;
const ECHO = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'Hello' } } };

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1,100,10000' },
    rounds: { type: 'string', default: '5' },
    idle: { type: 'string', default: '60' },
    only: { type: 'string', default: 'starts,background,runs,calls,views' },
  },
});
const rounds = Number(values.rounds);
const idleMs = Number(values.idle) * 1_000;
const parts = values.only.split(',');

console.log(`${machine()}\n`);
await withPostgres(async (scope) => {
  const upstream = await startUpstream('minimal');
  scope.defer(() => upstream.stop());
  const installations = [...values.sizes.split(',').map(Number).map(ofOrganizations), AGENTS, CONNECTIONS].map(
    (size) => new GrowingInstallation(size),
  );
  for (const installation of installations) await installation.store(scope, upstream.url);
  const rows = [];
  const measure = async (part, work) => {
    if (parts.includes(part)) rows.push(...(await work(installations)));
  };
  await measure('starts', measureStarts);
  for (const installation of installations) if (installation.service === undefined) await installation.start();
  const memory = memoryOf(installations);
  await onDatabase(await scope.createDatabase('counters'), async (client) => {
    await measure('background', () => backgroundOf(client, installations, 'idle'));
    await measure('background', () =>
      withConsoles(installations, () => backgroundOf(client, installations, 'console')),
    );
    await measure('runs', measureRuns);
    await measure('calls', measureCalls);
    await measure('views', measureViews);
    if (parts.includes('calls')) {
      await measure('background', () => backgroundOf(client, installations, 'after the calls'));
    }
  });
  rows.push(row('memory after the start, MiB', memory), row('memory at the end, MiB', memoryOf(installations)));
  console.log(report(installations, rows));
});

function ofOrganizations(organizations) {
  const title = counted(organizations, 'organization');
  return { title, database: `organizations_${organizations}`, organizations };
}

/**
 * A row of the report: a figure for each installation, undefined where there is none, and the figure that they are
 * compared with.
 */
function row(title, figures, base = figures[0]) {
  return { title, figures, base };
}

/** The row of a figure that was measured several times: the medians. @param {number[][]} samples by installation */
function medians(title, samples) {
  return row(
    title,
    samples.map((of) => quantile(of, 0.5)),
  );
}

async function inRounds(installations, count, work) {
  for (let round = 0; round < count; round++) {
    for (const [i, installation] of turnsOf(round, [...installations.entries()])) await work(installation, i, round);
  }
}

async function measureStarts(installations) {
  const times = installations.map(() => []);
  await inRounds(installations, STARTS, async (installation, i) => {
    await installation.stop();
    times[i].push(await installation.start());
  });
  return [medians('listens after, ms', times)];
}

async function measureRuns(installations) {
  const firstChunk = installations.map(() => []);
  const perSecond = installations.map(() => []);
  for (const { service } of installations) await measureLatency(service, WARM_UP_RUNS);
  await inRounds(installations, rounds, async ({ service }, i) => {
    firstChunk[i].push(...(await measureLatency(service, LATENCY_RUNS)).firstChunk);
    perSecond[i].push(await measureThroughput(service, MANY, THROUGHPUT_MS));
  });
  return [medians('run: first chunk p50, ms', firstChunk), medians(`runs/s, ${MANY} callers`, perSecond)];
}

async function measureCalls(installations) {
  const own = {};
  for (const [i, installation] of installations.entries()) {
    for (const [kind, target] of Object.entries(installation.targets())) (own[kind] ??= {})[i] = target;
  }
  const figures = await callsOf(own);
  const rowsOfCalls = rowsOf(installations, figures, figures.connection[0]);
  // One after the other, because the organizations of one row would end the sessions of another.
  for (const count of SPREAD) {
    const targets = {};
    for (const [i, installation] of installations.entries()) {
      if (installation.size.organizations <= count) continue;
      targets[i] = await installation.targetOver(count);
      await callEach(targets[i].endpoints);
    }
    if (Object.keys(targets).length === 0) continue;
    const spread = await callsOf({ [`${count.toLocaleString('en')} organizations in turn`]: targets });
    rowsOfCalls.push(...rowsOf(installations, spread, figures.connection[0]));
  }
  return rowsOfCalls;
}

async function callsOf(targets) {
  const options = { callers: [ALONE, MANY], rounds, ms: CALLS_MS, warmUpMs: CALLS_WARM_UP_MS };
  return (await measureInTurns(targets, options)).figures;
}

/** @param base the rounds by callers that the figures are compared with */
function rowsOf(installations, figures, base) {
  return Object.entries(figures).flatMap(([kind, measured]) => {
    const rowFor = (title, callers, figure) => {
      const median = (ofRounds) => ofRounds && quantile(ofRounds[callers].map(figure), 0.5);
      const cells = installations.map((_, i) => median(measured[i]));
      return row(`call, ${kind}: ${title}, ${counted(callers, 'caller')}`, cells, median(base));
    };
    return [
      rowFor('p50, ms', ALONE, ({ p50 }) => p50),
      rowFor('per second', MANY, ({ rps }) => rps),
      rowFor('CPU of Node.js, µs', MANY, ({ cpu, calls }) => cpu / calls),
    ];
  });
}

/** Opens the sessions with the upstream, so that they are not part of the figures. */
async function callEach(endpoints) {
  const left = endpoints.values();
  const callNext = async () => {
    for (const { url, headers } of left) await postJson(url, headers, ECHO);
  };
  await Promise.all(Array.from({ length: MANY }, callNext));
}

async function measureViews(installations) {
  const rowsOfViews = [];
  for (const view of VIEW_NAMES) {
    const times = installations.map(() => []);
    // The first round warms up.
    await inRounds(installations, rounds + 1, async ({ service }, i, round) => {
      const ms = await timeView(service, view);
      if (round > 0) times[i].push(ms);
    });
    rowsOfViews.push(medians(`view: ${view}, ms`, times));
  }
  return rowsOfViews;
}

async function backgroundOf(client, installations, when) {
  const services = installations.map(({ service: { pid }, size: { database } }) => ({ pid, database }));
  const figures = await measureBackground(client, services, idleMs);
  const of = (figure) => figures.map((each) => each[figure]);
  return [
    row(`${when}: CPU of Node.js per minute, ms`, of('node')),
    row(`${when}: CPU of PostgreSQL per minute, ms`, of('postgres')),
    row(`${when}: transactions per minute`, of('transactions')),
    row(`${when}: rows read per minute`, of('rows')),
  ];
}

/** With one open console for each service. */
async function withConsoles(installations, work) {
  const open = ({ service: { api, headers } }) => EventReader.open(`${api}/events`, headers);
  const readers = await Promise.all(installations.map(open));
  try {
    return await work();
  } finally {
    for (const reader of readers) reader.close();
  }
}

function memoryOf(installations) {
  return installations.map(({ service }) => residentMebibytes(service.pid));
}

function report(installations, rows) {
  const cells = ({ figures, base }) =>
    figures.flatMap((figure) => [number(figure), figure === undefined ? '-' : ratio(figure, base)]);
  return [
    layOut([
      ['', ...installations.flatMap(({ size }) => [size.title, 'ratio'])],
      ...rows.map((each) => [each.title, ...cells(each)]),
    ]),
    '',
    `Medians of ${rounds} rounds, one process and one database for each size, on one server. Every second column is the`,
    'ratio to the first size; calls over many organizations are compared with those of one connection there. A view is',
    'the HTTP requests to management tools that its page sends at the same time. Background work is of a service that',
    'nobody calls; `console`: with one open console.',
  ].join('\n');
}
