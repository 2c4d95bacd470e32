import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { postJson } from './http-client.mjs';

/** Logs and metrics can lag behind the answers by this much. */
const SETTLE_MS = 1000;

/**
 * Counts what the service recorded of the calls, as proof that all features were on.
 * @param {{ tools: string, metricsUrl: string, logFile: string, bootstrapHeaders: Record<string, string> }} service
 * @returns {Promise<Record<string, number>>} how many calls each kind of record holds
 */
export async function recordedCalls({ tools, metricsUrl, logFile, bootstrapHeaders }) {
  await sleep(SETTLE_MS);
  // The management calls that set the target up are on record too.
  const where = { field: ['door'], operator: 'eq', value: 'proxy' };
  const { totalCount } = await postJson(`${tools}/MONITORING_LOGS_LIST`, bootstrapHeaders, { limit: 1, where });
  return {
    'audit records': totalCount,
    'counted in metrics': await countInMetrics(metricsUrl),
    'log lines': await countLines(logFile, '/mcp/'),
  };
}

async function countInMetrics(url) {
  const text = await (await fetch(url)).text();
  const samples = text.matchAll(/^connection_proxy_requests_total(?:\{[^\n]*\})? ([\d.e+]+)/gm);
  return [...samples].reduce((sum, [, value]) => sum + Number(value), 0);
}

async function countLines(file, part) {
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) count += line.includes(part) ? 1 : 0;
  return count;
}
