import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Signalbox } from '../../packages/client/src/index.js';
import { version } from '../../src/core/version.js';
import { startEverything, type EverythingServer } from '../support/everything-server.js';
import { outputOf } from '../support/program.js';
import { CliFixture } from './cli.support.js';

const BIN = fileURLToPath(new URL('../../bin/signalbox.mjs', import.meta.url));

let cli: CliFixture;
let everything: EverythingServer;
let signalbox: Signalbox;

beforeAll(async () => {
  everything = await startEverything();
  cli = await CliFixture.start();
  signalbox = new Signalbox(cli);
}, 120_000);

afterAll(async () => {
  await cli?.close();
  await everything?.close();
});

/** The id of the connection that an earlier test has made. */
async function everythingId(): Promise<string> {
  const where = { field: ['title'], operator: 'eq', value: 'Everything' };
  const { items } = await signalbox.tool('COLLECTION_CONNECTIONS_LIST', { where });
  return items[0]?.id ?? '';
}

describe('signalbox', () => {
  it('names its commands, and refuses others', async () => {
    const help = await cli.output('--help');
    for (const name of [
      'start',
      'demo',
      'doctor',
      'key',
      'connect',
      'import',
      'chat',
      'runs',
      'logs',
      'apply',
      'export',
    ]) {
      expect(help).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
    }
    expect(await cli.output('--version')).toBe(`${version}\n`);
    expect(await outputOf(process.execPath, [BIN, '--version'])).toBe(`${version}\n`);
    expect(await cli.run(['strat'])).toMatchObject({ code: 1, errors: expect.stringContaining('Did you mean start?') });
  });

  it('says what a command needs that talks to a service', async () => {
    const noKey = await cli.run(['runs'], { env: { API_KEY: '' } });
    expect(noKey).toMatchObject({ code: 1, output: '', errors: expect.stringMatching(/^Set API_KEY/) });
    const wrong = await cli.run(['runs'], { env: { API_KEY: 'sbx_wrong' } });
    expect(wrong).toMatchObject({ code: 1, errors: expect.stringContaining('(credential_invalid)') });
    const away = await cli.run(['runs', '--url', 'http://127.0.0.1:1']);
    expect(away).toMatchObject({ code: 1, errors: expect.stringContaining('bad port') });
  });

  it('doctor: what is there, and what is missing', async () => {
    const well = await cli.run(['doctor']);
    expect(well.code).toBe(0);
    expect(well.output).toContain(`The service at ${cli.url} is ready.`);
    expect(well.output).toContain('No AI provider is configured');
    const ill = await cli.run(['doctor', '--url', 'http://127.0.0.1:1'], {
      env: { DATABASE_URL: 'postgres://127.0.0.1:1/x' },
    });
    expect(ill.code).toBe(1);
    expect(ill.output).toMatch(/FAULT {3}DATABASE_URL \(127\.0\.0\.1:1\): .*ECONNREFUSED/);
    expect(ill.output).toContain('No service answers at http://127.0.0.1:1');
    expect(ill.output).toContain('2 things are in the way.');
  });

  it('key create: a key that can do what it was given', async () => {
    const key = (
      await cli.output('key', 'create', 'reader', '--permission', 'self:RUN_LIST', '--expires', '1h')
    ).trim();
    const reader = new Signalbox({ url: cli.url, org: cli.org, apiKey: key });
    await expect(reader.tool('RUN_LIST', {})).resolves.toMatchObject({ items: expect.any(Array) });
    await expect(reader.tool('API_KEY_LIST', {})).rejects.toMatchObject({ status: 403 });
    expect(await cli.run(['key', 'create', 'x', '--permission', 'RUN_LIST'])).toMatchObject({
      code: 1,
      errors: '"RUN_LIST" is not of the form <where>:<tool>.\n',
    });
  });

  it('connect: adds a server and tests it', async () => {
    const output = await cli.output('connect', everything.url, '--title', 'Everything');
    expect(output).toMatch(/It works: \d+ tools, MCP /);
    const dead = await cli.run(['connect', 'http://127.0.0.1:1/mcp']);
    expect(dead).toMatchObject({ code: 1, output: expect.stringContaining('It does not work yet: ') });
  });

  it('connect: leaves the options of a program to it, and takes its own before them', async () => {
    await cli.run(['connect', '--title', 'Program', 'node', '--no-such-option', '--title', 'of the program']);
    await cli.run(['connect', 'node', '--title', 'Separated', '--', '--no-such-option']);
    const { items } = await signalbox.tool('COLLECTION_CONNECTIONS_LIST', {
      where: { field: ['title'], operator: 'in', value: ['Program', 'Separated'] },
    });
    expect(items.map(({ title, stdio }) => [title, stdio?.args]).toSorted()).toEqual([
      ['Program', ['--no-such-option', '--title', 'of the program']],
      ['Separated', ['--no-such-option']],
    ]);
    expect(await cli.run(['connect', everything.url, 'more'])).toMatchObject({
      code: 1,
      errors: '"more" follows a URL, which takes no arguments.\n',
    });
  });

  it('import: the servers of a file, with the reasons of those that are refused', async () => {
    const mcpServers = { good: { url: everything.url }, bad: { type: 'sse', url: everything.url } };
    await writeFile(join(cli.folder, 'mcp.json'), JSON.stringify({ mcpServers }));
    const { code, output } = await cli.run(['import', 'mcp.json']);
    expect(code).toBe(1);
    expect(output).toMatch(/^good +create/m);
    expect(output).toMatch(/^bad +refused +\S/m);
    expect(await cli.run(['import', 'none.json'])).toMatchObject({ code: 1, errors: 'none.json cannot be read.\n' });
  });

  it('chat, runs and logs: an answer with a tool call, and its traces', async () => {
    await signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', {
      data: { title: 'Talker', connections: [{ connection_id: await everythingId() }] },
    });
    const single = await cli.output('chat', 'Talker', '-m', '/call echo {"message":"from the terminal"}');
    expect(single).toContain('* echo {"message":"from the terminal"}');
    expect(single).toContain('-> Echo: from the terminal');
    const { code, output } = await cli.run(['chat', 'Talker'], { input: 'one\ntwo\n' });
    expect(code).toBe(0);
    expect(output).toContain('You said: one');
    expect(output).toContain('You said: two');

    expect(await cli.output('runs', '--status', 'completed')).toMatch(/completed +builtin\/echo/);
    expect(await cli.output('logs', '--status', 'success', '--limit', '100')).toMatch(/success .*Everything +echo/);
    expect(await cli.run(['logs', '--limit', '100'], { stopReading: true })).toMatchObject({ code: 0, errors: '' });
    expect(await cli.run(['chat', 'Nobody', '-m', 'x'])).toMatchObject({
      code: 1,
      errors: 'There is no agent with the title "Nobody".\n',
    });
  });

  it('chat: asks for an approval, and denies without an answer', async () => {
    const agent = await signalbox.tool('COLLECTION_VIRTUAL_MCP_CREATE', {
      data: { title: 'Asker', connections: [{ connection_id: await everythingId(), approval: 'all' }] },
    });
    const message = '/call echo {"message":"approved"}';
    const approved = await cli.run(['chat', 'Asker'], { input: `${message}\nyes\n` });
    expect(approved).toMatchObject({ code: 0, output: expect.stringContaining('-> Echo: approved') });
    const denied = await cli.run(['chat', agent.item.id], { input: `${message}\n` });
    expect(denied).toMatchObject({ code: 0, output: expect.stringContaining('-> denied') });
  });

  it('prints no control characters of others', async () => {
    const { output } = await cli.run(['chat', 'Talker', '-m', 'colour \u001B[31m\u0007\u202E']);
    expect(output).toContain('You said: colour');
    expect(output).not.toMatch(/[\u001B\u0007\u202E]/);
  });
});
