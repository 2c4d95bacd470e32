import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { agentCharts, agentTable } from './agents-docs.mjs';
import { barCharts } from './bar-chart.mjs';
import { replaceBetween } from './markdown-table.mjs';
import { proxyCharts, proxyTables } from './proxies-docs.mjs';

const root = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const RESULTS = root('bench/results/peers.json');
const PAGE = root('docs/benchmarks.md');
const PICTURES = { proxies: root('docs/pictures/peers-proxies.svg'), agents: root('docs/pictures/peers-agents.svg') };

/**
 * Keeps the figures of a run, in place of earlier ones of the same kind.
 * @param {{ proxies?: import('../proxies/figures.mjs').ProxyFigures, agents?:
 *   import('../agents/figures.mjs').AgentFigures }} results
 */
export async function keepResults(results) {
  await writeFormatted(RESULTS, JSON.stringify({ ...(await readResults()), ...results }));
}

/** Writes the tables and pictures of docs/benchmarks.md from the kept figures. */
export async function writeDocs() {
  const { proxies, agents } = await readResults();
  let page = await readFile(PAGE, 'utf8');
  page = replaceBetween(page, 'proxies', proxyTables(proxies));
  page = replaceBetween(page, 'agent servers', agentTable(agents));
  await writeFormatted(PAGE, page);
  await writeFile(PICTURES.proxies, barCharts(proxyCharts(proxies)));
  await writeFile(PICTURES.agents, barCharts(agentCharts(agents)));
  console.log(`Written: ${[RESULTS, PAGE, ...Object.values(PICTURES)].join(', ')}.`);
}

async function readResults() {
  return JSON.parse(await readFile(RESULTS, 'utf8'));
}

async function writeFormatted(file, text) {
  await writeFile(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}
