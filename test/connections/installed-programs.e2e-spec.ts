import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliFixture } from '../cli/cli.support.js';

const MINI = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));

let cli: CliFixture;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-npx-'));
  const manifest = {
    name: 'slow-to-install',
    version: '1.0.0',
    type: 'module',
    bin: './server.mjs',
    scripts: { install: 'sleep 5' },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'server.mjs'), `#!/usr/bin/env node\nawait import(${JSON.stringify(MINI)});\n`);
  cli = await CliFixture.start({ STDIO_COMMANDS: 'npx,node' });
});
afterAll(async () => {
  await cli?.close();
  await rm(folder, { recursive: true, force: true });
});

it('says that a program is being installed, and when it works', async () => {
  const npx = ['npx', '--yes', '--cache', join(folder, 'cache'), `file:${folder}`];
  const { code, output, errors } = await cli.run(['connect', '--', ...npx]);
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(output).toMatch(/The program has been starting for \d+ s\. npx first installs a program that is not on/);
  expect(output).toMatch(/It works: 10 tools, MCP /);
  // What was true while it started is not kept.
  const id = /Connection (\S+)/.exec(output)?.[1] ?? '';
  const response = await fetch(`${cli.url}/api/${cli.org}/tools/COLLECTION_CONNECTIONS_GET`, {
    method: 'POST',
    headers: { authorization: `Bearer ${cli.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id }),
  });
  expect(await response.json()).toMatchObject({ item: { status: 'active', status_reason: null } });
});
