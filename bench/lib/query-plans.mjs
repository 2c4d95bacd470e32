import { open, stat } from 'node:fs/promises';

/** Statements that take less are left out, in milliseconds. */
const SHORTEST_MS = 2;
const LOGGED = /duration: ([\d.]+) ms {2}plan:\n((?:\t.*(?:\n|$))+)/g;
/** Tables whose every row must not be read for one view. */
const LARGE = new Set(['audit_records', 'runs', 'threads', 'messages']);

/**
 * Makes PostgreSQL log the plans of statements, as they were executed (`auto_explain`). It concerns connections that
 * are opened from now on, and slows their statements down.
 * @param {import('pg').Client} client
 */
export async function logPlans(client, database) {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': `'${SHORTEST_MS}ms'`,
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    // Counts rows without reading the clock for each.
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
  };
  await client.query(`LOAD 'auto_explain'`);
  for (const [name, value] of Object.entries(settings))
    await client.query(`ALTER DATABASE ${database} SET ${name} = ${value}`);
}

/** Reads the plans that a server appends to its log. */
export class PlanLog {
  #file;
  #offset = 0;

  /** @param {string} file the server's log */
  constructor(file) {
    this.#file = file;
  }

  /** The statements that were logged since the last call, the slowest of each text. */
  async read() {
    const { size } = await stat(this.#file);
    const log = await open(this.#file);
    const buffer = Buffer.alloc(size - this.#offset);
    await log.read(buffer, 0, buffer.length, this.#offset);
    await log.close();
    this.#offset = size;
    const byText = new Map();
    for (const [, ms, json] of buffer.toString().matchAll(LOGGED)) {
      const { 'Query Text': text, Plan: plan } = JSON.parse(json.replaceAll('\n\t', '\n'));
      const statement = { text: shorten(text), ms: Number(ms), ...summaryOf(plan) };
      if (statement.ms > (byText.get(statement.text)?.ms ?? 0)) byText.set(statement.text, statement);
    }
    return [...byText.values()].sort((a, b) => b.ms - a.ms);
  }
}

/** The rows of the answer, the pages of 8 KiB that were touched, and how the tables were read. */
function summaryOf(plan) {
  const nodes = nodesOf(plan);
  const scans = nodes.filter((node) => 'Relation Name' in node);
  return {
    rows: plan['Actual Rows'],
    pages: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    spilled: nodes.some((node) => node['Sort Space Type'] === 'Disk' || (node['Temp Written Blocks'] ?? 0) > 0),
    scans: scans.map((node) => ({
      table: node['Relation Name'],
      by: node['Index Name'] ?? node['Node Type'],
      rows: node['Actual Rows'] * node['Actual Loops'],
      isWhole: node['Node Type'] === 'Seq Scan' && LARGE.has(node['Relation Name']),
    })),
  };
}

function nodesOf(plan) {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** The first words and the end of a statement, without the columns that it selects. */
function shorten(text) {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('"', '').trim();
  const from = line.search(/ FROM /i);
  return line.startsWith('SELECT') && from > 60 ? `${line.slice(0, 40)}…${line.slice(from)}` : line;
}
