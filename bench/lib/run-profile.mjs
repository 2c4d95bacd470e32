import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  attachEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../dist/platform/embedded-postgres/embedded-postgres.js';
import { onDatabase, postmasterOf } from './databases.mjs';
import { openCallers, postInTurns } from './measure.mjs';
import { cpuSeconds, familyCpuSeconds } from './proxy-process.mjs';
import { topOfProfile } from './proxy-profile.mjs';
import { layOut, number, quantile, ratio } from './report.mjs';
import { startService } from './service.mjs';

const CALLERS = 16;
/** The turns of each thread before the first round: as many as an agent reads. */
const TURNS_BEFORE = 100;
const TURNS_TO_WARM_UP = 10;
const ROUNDS = 6;
const ROUND_MS = 2500;
const TOP_STATEMENTS = 40;

const STATEMENTS = `
  SELECT toplevel, regexp_replace(query, '\\s+', ' ', 'g') AS query, calls::float8, total_plan_time AS planned,
         total_exec_time AS executed
    FROM pg_stat_statements
   WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
   ORDER BY total_exec_time + total_plan_time DESC LIMIT ${TOP_STATEMENTS}`;

/**
 * Profiles the runs of each service on PostgreSQL, each with 16 callers on long threads: first what a run costs, in
 * rounds of which each service has its turn; then the statements of a run with those that they contain
 * (`pg_stat_statements.track = all`) and the functions of the main thread (`--cpu-prof`), which cost time themselves.
 * @param {{ apiKey: string, services: Record<string, { dataDir: string, checkout?: string }> }} options
 * @returns the tables as text
 */
export async function profileRuns({ apiKey, services }) {
  const names = Object.keys(services);
  for (const name of names) await preload(services[name].dataDir);
  const costs = await measureTargets(names, 'none', (name) => ({ ...services[name], apiKey }));
  const profilesOf = (name) => join(services[name].dataDir, 'profiles');
  for (const name of names) await mkdir(profilesOf(name), { recursive: true });
  const profiled = await measureTargets(names, 'all', (name) => {
    return { ...services[name], apiKey, nodeArgs: ['--cpu-prof', `--cpu-prof-dir=${profilesOf(name)}`] };
  });
  const parts = [costTable(costs)];
  for (const name of names) {
    const { statements, runs, since } = profiled[name];
    parts.push(`${name}: statements of a run\n${statementTable(statements, runs)}`);
    parts.push(`${name}: the main thread\n${await topOfProfile(profilesOf(name), since)}`);
  }
  return parts.join('\n\n');
}

/** Makes the server of a data folder count statements, once it starts again. */
async function preload(dataDir) {
  const server = await startEmbeddedPostgres({ dataDir });
  try {
    await onDatabase(server.url, (client) =>
      client.query(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`),
    );
  } finally {
    await server.stop();
  }
}

/** Sets which statements the server counts. @param {'none' | 'all'} track all: also those inside of functions */
async function countStatements(url, track) {
  await onDatabase(url, async (client) => {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
    await client.query(`ALTER SYSTEM SET pg_stat_statements.track = '${track}'`);
    await client.query(`ALTER SYSTEM SET pg_stat_statements.track_planning = ${track === 'all'}`);
    await client.query('SELECT pg_reload_conf()');
  });
}

/** Starts all targets, measures them in turns, and stops them. */
async function measureTargets(names, track, optionsOf) {
  const targets = {};
  try {
    for (const name of names) {
      const options = optionsOf(name);
      const service = await startService(options);
      targets[name] = { service, runs: 0, rates: [], node: 0, postgres: 0 };
      const { url } = await attachEmbeddedPostgres(options.dataDir);
      await countStatements(url, track);
      const callers = await openCallers(service, CALLERS);
      Object.assign(targets[name], { url, callers, postmaster: await postmasterOf(url) });
      await postInTurns(service, callers, (runs) => runs >= TURNS_BEFORE);
    }
    // Connections that were idle while the next service had its turns are closed, and new ones plan statements again.
    for (const target of Object.values(targets)) {
      await postInTurns(target.service, target.callers, (runs) => runs >= TURNS_TO_WARM_UP);
      await onDatabase(target.url, (client) => client.query('SELECT pg_stat_statements_reset()'));
      // V8's profiles have the same clock, in microseconds.
      target.since = Number(process.hrtime.bigint() / 1000n);
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of round % 2 === 0 ? names : names.toReversed()) await measureRound(targets[name]);
    }
    for (const target of Object.values(targets)) {
      target.statements = await onDatabase(target.url, async (client) => (await client.query(STATEMENTS)).rows);
      target.callers.forEach(({ reader }) => reader.close());
    }
    return targets;
  } finally {
    for (const { service } of Object.values(targets)) await service.stop();
  }
}

async function measureRound(target) {
  const [node, postgres] = [cpuSeconds(target.service.pid), familyCpuSeconds(target.postmaster)];
  const start = performance.now();
  const runs = await postInTurns(target.service, target.callers, () => performance.now() - start >= ROUND_MS);
  target.rates.push((runs * 1000) / (performance.now() - start));
  target.runs += runs;
  target.node += cpuSeconds(target.service.pid) - node;
  target.postgres += familyCpuSeconds(target.postmaster) - postgres;
}

function costTable({ ours, before }) {
  const row = (title, of) => {
    const cells = [title, number(of(ours))];
    return before ? [...cells, number(of(before)), ratio(of(ours), of(before))] : cells;
  };
  return layOut([
    ['16 callers, long threads', 'ours', ...(before ? ['before', 'ours : before'] : [])],
    row('runs per second', ({ rates }) => quantile(rates, 0.5)),
    row('CPU of Node.js, us per run', ({ node, runs }) => (node * 1e6) / runs),
    row('CPU of PostgreSQL, us per run', ({ postgres, runs }) => (postgres * 1e6) / runs),
  ]);
}

function statementTable(statements, runs) {
  return layOut([
    ['', 'per run', 'plan, us', 'execute, us', ' '],
    ...statements.map(({ toplevel, query, calls, planned, executed }) => [
      `${toplevel ? '' : '  in a function: '}${labelOf(query)}`,
      (calls / runs).toFixed(2),
      ((planned * 1000) / runs).toFixed(0),
      ((executed * 1000) / runs).toFixed(0),
      ' ',
    ]),
  ]);
}

/** The function that a statement calls, or how it begins. */
function labelOf(query) {
  const called = /^SELECT .*\b((?:run|spend)_[a-z_]+)\(/.exec(query)?.[1];
  return called === undefined ? query.trim().slice(0, 90) : `${called}()`;
}
