/**
 * `npm run bench:console`: opens each view of the console in Debian's Chromium, for an organization with 100,000
 * threads, 1,000,000 records of calls, 500 connections with 5,000 tools and a run of 2,000 calls, and for an empty one.
 * Prints the time to content and the plans of the slowest statements.
 *
 * --rounds <n>   how often each view is opened (5)
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { generateApiKey } from '../dist/core/api-key-value.js';
import { actIn, openView, signIn, VIEWS } from './lib/console-views.mjs';
import { onDatabase, withPostgres } from './lib/databases.mjs';
import { measureLatency } from './lib/measure.mjs';
import { logPlans, PlanLog } from './lib/query-plans.mjs';
import { layOut, machine, number, quantile, ratio } from './lib/report.mjs';
import { startService } from './lib/service.mjs';
import { SIZES, storeOrganization } from './lib/store-organization.mjs';

const CHROMIUM = { executablePath: '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'] };
/** In this time a view shall show its content. */
const LIMIT_MS = 1_000;
const OWNER = { email: 'owner@example.com', password: 'bench correct horse battery' };

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const rounds = Number(values.rounds);

console.log(`${machine()}\n`);
await withPostgres(async (scope) => {
  const browser = await chromium.launch(CHROMIUM);
  scope.defer(() => browser.close());
  const empty = await openInstallation(scope, browser, 'small');
  const full = await openInstallation(scope, browser, 'large');
  await measureLatency(full.service, 1);
  full.longRun = await onDatabase(full.databaseUrl, (client) => storeOrganization(client));
  console.log(await reportViews(browser, full, empty));
  console.log(await reportActs(browser, full));
  await full.service.stop();
  console.log(await reportPlans(browser, full, new PlanLog(join(scope.serverFolder, 'postgres.log'))));
});

/** Starts a service on a database of its own, and signs its owner in. */
async function openInstallation(scope, browser, name) {
  const installation = { scope, name, databaseUrl: await scope.createDatabase(name), apiKey: generateApiKey() };
  return { ...installation, ...(await start(browser, installation)) };
}

async function start(browser, { scope, name, databaseUrl, apiKey }) {
  const service = await startService({
    dataDir: join(scope.folder, name),
    apiKey,
    databaseUrl,
    env: { BOOTSTRAP_OWNER_EMAIL: OWNER.email, BOOTSTRAP_OWNER_PASSWORD: OWNER.password },
  });
  scope.defer(() => service.stop());
  return { service, session: await signIn(browser, service.url, OWNER) };
}

async function measureView(browser, installation, view) {
  const opened = await openView(browser, installation, view);
  const rows = await opened.page.locator('main tbody tr').count();
  await opened.context.close();
  const [slowest] = opened.calls.toSorted((a, b) => b.ms - a.ms);
  return { contentMs: opened.contentMs, rows, slowest };
}

async function reportViews(browser, full, empty) {
  const lines = [['time to content, p50', 'full, ms', `of ${LIMIT_MS}`, 'empty, ms', 'ratio', 'slowest request', 'ms']];
  for (const view of VIEWS) {
    const figures = { full: [], empty: [] };
    for (let round = 0; round <= rounds; round++) {
      const big = await measureView(browser, full, view);
      if (view.isList && big.rows === 0) throw new Error(`${view.name} shows no rows.`);
      const small = view.ofLongRun ? undefined : await measureView(browser, empty, view);
      // The first round warms up.
      if (round === 0) continue;
      figures.full.push(big);
      if (small !== undefined) figures.empty.push(small);
    }
    const [big, small] = [figures.full, figures.empty].map((of) => median(of.map(({ contentMs }) => contentMs)));
    const slowest = figures.full.map(({ slowest: call }) => call).filter(Boolean);
    lines.push([
      view.name,
      number(big),
      ratio(big, LIMIT_MS),
      number(small),
      ratio(big, small),
      slowest[0]?.tool ?? '-',
      number(median(slowest.map(({ ms }) => ms))),
    ]);
  }
  return `${layOut(lines)}\n`;
}

async function reportActs(browser, installation) {
  const lines = [['then, p50', 'answer, ms', 'tool']];
  for (const view of VIEWS) {
    for (const act of view.acts ?? []) {
      const times = [];
      for (let round = 0; round < rounds; round++) {
        const { context, page } = await openView(browser, installation, view);
        times.push(await actIn(page, act));
        await context.close();
      }
      lines.push([`${view.name}: ${act.name}`, number(median(times)), act.tool]);
    }
  }
  return `${layOut(lines)}\n`;
}

/** Opens each view and acts in it once more, on a service whose statements PostgreSQL explains. */
async function reportPlans(browser, full, log) {
  await onDatabase(full.databaseUrl, (client) => logPlans(client, full.name));
  const explained = { ...full, ...(await start(browser, full)) };
  const parts = [`Statements and their plans (auto_explain; ${JSON.stringify(SIZES)})`];
  for (const view of VIEWS) {
    for (const act of [undefined, ...(view.acts ?? [])]) {
      const { context, page } = await openView(browser, explained, view);
      if (act !== undefined) {
        await log.read();
        await actIn(page, act);
      }
      await context.close();
      const statements = await log.read();
      parts.push('', act === undefined ? view.name : `${view.name}: ${act.name}`, ...statements.flatMap(planLines));
    }
  }
  await explained.service.stop();
  return parts.join('\n');
}

function planLines({ text, ms, rows, pages, spilled, scans }) {
  const read = scans.map(
    ({ table, by, rows: count, isWhole }) => `${table} by ${by} (${count})${isWhole ? ' WHOLE TABLE' : ''}`,
  );
  return [
    `  ${number(ms)} ms, ${rows} rows, ${pages} pages${spilled ? ', SPILLED' : ''}: ${read.join(', ')}`,
    `    ${text.slice(0, 220)}`,
  ];
}

function median(values) {
  return values.length === 0 ? undefined : quantile(values, 0.5);
}
