import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { COMMANDS } from './clients/commands.js';
import { LIBRARIES } from './clients/libraries.js';
import { MODEL_CLIENTS } from './clients/model-clients.js';
import type { FieldClient, Findings } from './field-client.js';
import { type FieldRow, readRows, writeRows } from './field-table.js';
import { FieldService, type FieldTask, TARGETS } from './field-target.js';
import { type ClientPackage, install, readManifest } from './installed-client.js';

const manifest = await readManifest();
/** Each client with its version, in the order of the table. */
const clients = [...LIBRARIES, ...COMMANDS, ...MODEL_CLIENTS].map((client) => ({ ...packageOf(client), client }));

const service = new FieldService();
/** The rows of the clients that have passed at every target. */
const rows: FieldRow[] = [];
beforeAll(() => service.start());
afterAll(() => service.close());

function packageOf({ name, major }: FieldClient): ClientPackage {
  const versions = manifest.filter((entry) => entry.name === name);
  const wanted = versions.find(({ version }) => major === undefined || version.startsWith(`${major}.`));
  if (wanted === undefined) throw new Error(`clients.json does not have ${name}.`);
  return wanted;
}

/** Clients quote what they print: without quotes and backslashes, a text is the same at any depth of JSON. */
const plain = (value: unknown): string => JSON.stringify(value).replaceAll(/[\\"]/g, '');

function expectFound({ shows }: FieldClient, task: FieldTask, found: Findings): void {
  const lists = (tool: string): boolean => found.tools.some((name) => name.endsWith(tool));
  expect({ tools: found.tools, lists: lists(task.tool) }).toMatchObject({ lists: true });
  expect({ tools: found.tools, lists: lists(task.withheld) }).toMatchObject({ lists: false });
  expect(plain(found.result)).toContain(plain(task.answer));
  if (shows.includes('prompt') && task.prompt) expect(plain(found.prompt)).toContain(plain(task.prompt.text));
  if (shows.includes('resource') && task.resource) expect(plain(found.resource)).toContain(plain(task.resource.text));
  if (shows.includes('refusal')) expect(plain(found.refusal)).toContain('permission_denied');
}

/** One call has arrived, with the connection's credential and without the caller's. */
function expectArrived({ upstream, args, key }: FieldTask): void {
  if (upstream === undefined) return;
  const calls = service.callsAt(upstream);
  expect(calls.map(({ message }) => message.params)).toEqual([
    expect.objectContaining({ name: 'echo', arguments: args }),
  ]);
  expect(calls[0]?.headers.authorization).toBe(`Bearer ${service.credential}`);
  expect(JSON.stringify(calls)).not.toContain(key);
}

it('the manifest has no client that is not tested', () => {
  expect(clients.map(({ name, version }) => ({ name, version }))).toEqual(expect.arrayContaining(manifest));
});

describe.each(clients)('$name $version', ({ name, version, client }) => {
  let installed: string;
  let home: string;
  const revisions = new Set<string>();
  const passed: string[] = [];
  beforeAll(async () => {
    installed = await install({ name, version });
  });
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'field-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));
  afterAll(() => {
    if (passed.length < TARGETS.length) return;
    const also = client.shows.length === 0 ? 'none' : client.shows.map((shown) => `${shown}s`).join(', ');
    rows.push([`\`${name}\``, version, client.how, [...revisions].join(', '), 'yes', 'yes', 'yes', also]);
  });

  it.each(TARGETS)('$title', async (target) => {
    const task = service.taskAt(target);
    const found = await client.run(task, { installed, home });
    expectFound(client, task, found);
    expectArrived(task);
    for (const revision of service.revisionsOfCalls()) revisions.add(revision);
    passed.push(target.title);
  });
});

/** The rows of all clients: those of now, and of the clients that have not run, the documented ones. */
function merged(documented: readonly FieldRow[]): FieldRow[] {
  const all = [...rows, ...documented];
  const rowOf = (tested: ClientPackage): FieldRow | undefined =>
    all.find(([name, version]) => name === `\`${tested.name}\`` && version === tested.version);
  return clients.map(rowOf).filter((row) => row !== undefined);
}

it('docs/conformance.md has these rows', async () => {
  if (process.env['UPDATE_FIELD'] !== undefined) await writeRows(merged(await readRows()));
  expect(await readRows()).toEqual(expect.arrayContaining(rows));
});
