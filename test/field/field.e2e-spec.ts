import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { COMMANDS } from './clients/commands.js';
import { LIBRARIES } from './clients/libraries.js';
import { MODEL_CLIENTS } from './clients/model-clients.js';
import type { FieldClient, Findings } from './field-client.js';
import { FieldService, type FieldTask, TARGETS } from './field-target.js';
import { install, readManifest } from './installed-client.js';

const CLIENTS: readonly FieldClient[] = [...LIBRARIES, ...COMMANDS, ...MODEL_CLIENTS];

const service = new FieldService();
beforeAll(() => service.start());
afterAll(() => service.close());

/** Clients quote what they print: without quotes and backslashes, a text is the same at any depth of JSON. */
const plain = (value: unknown): string => JSON.stringify(value).replaceAll(/[\\"]/g, '');

function expectFound({ shows }: FieldClient, task: FieldTask, found: Findings): void {
  const lists = (tool: string): boolean => found.tools.some((name) => name.endsWith(tool));
  expect({ tools: found.tools, lists: lists(task.tool) }).toMatchObject({ lists: true });
  expect({ tools: found.tools, lists: lists(task.withheld) }).toMatchObject({ lists: false });
  expect(plain(found.result)).toContain(plain(task.answer));
  if (shows.includes('prompt') && task.prompt) expect(plain(found.prompt)).toContain(plain(task.prompt.text));
  if (shows.includes('resource') && task.resource) expect(plain(found.resource)).toContain(plain(task.resource.text));
  if (shows.includes('refusal')) expect(plain(found.refusal)).toMatch(/permission_denied|may not/);
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

const titled = CLIENTS.map((client) => ({ ...client, title: [client.name, client.major].join(' ').trim() }));

describe.each(titled)('$title', (client) => {
  let installed: string;
  let home: string;
  beforeAll(async () => {
    const { name, major } = client;
    const versions = (await readManifest()).filter((entry) => entry.name === name);
    const wanted = versions.find(({ version }) => major === undefined || version.startsWith(`${major}.`));
    if (wanted === undefined) throw new Error(`clients.json does not have ${name}.`);
    installed = await install(wanted);
  });
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'field-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it.each(TARGETS)('$title', async (target) => {
    const task = service.taskAt(target);
    const found = await client.run(task, { installed, home });
    expectFound(client, task, found);
    expectArrived(task);
  });
});
