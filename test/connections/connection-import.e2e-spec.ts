import { describe, expect, it } from '@jest/globals';
import type supertest from 'supertest';
import type { ConnectionItem } from '../../src/connections/connection.dto.js';
import type { ConnectionImportItem } from '../../src/connections/connection-import.dto.js';
import { ConnectionSecrets } from '../../src/connections/connection-secrets.js';
import { ConnectionRepository } from '../../src/connections/connection.repository.js';
import { newId } from '../../src/core/ids.js';
import { startTestApp } from '../support/app.js';
import { startLegacyServer } from '../support/changing-server.js';
import { expectProblem } from '../support/problem.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { useStarted } from '../support/use-started.js';

const app = useStarted(() => startTestApp({ env: { STDIO_COMMANDS: 'node,npx', STDIO_ENV_ALLOW: 'APP_*' } }));

const send = (mcpServers: unknown, more: object = {}, key?: string): supertest.Test =>
  app.tool('CONNECTION_IMPORT', { mcpServers, ...more }, key);
const importAll = async (mcpServers: object, more: object = {}): Promise<ConnectionImportItem[]> =>
  (await send(mcpServers, more).expect(200)).body.items;
/** Imports one entry under a name; by default a new one. */
async function importOne(entry: unknown, name = newId(), more: object = {}): Promise<ConnectionImportItem> {
  const [item] = await importAll({ [name]: entry }, more);
  if (item === undefined) throw new Error('There is no item.');
  return item;
}
const get = async (id: string | undefined): Promise<ConnectionItem> =>
  (await app.tool('COLLECTION_CONNECTIONS_GET', { id }).expect(200)).body.item;
const count = async (): Promise<number> =>
  (await app.tool('COLLECTION_CONNECTIONS_LIST', { limit: 1 }).expect(200)).body.totalCount;

/** The secrets of a connection as they would be sent. */
async function secretsOf(id = ''): Promise<object> {
  const repository = app.app.get(ConnectionRepository, { strict: false });
  const secrets = app.app.get(ConnectionSecrets, { strict: false });
  const [found] = await repository.findAllWithOrganization([id]);
  if (found === undefined) throw new Error('There is no connection.');
  const { connectionToken: token, connectionHeaders: headers, oauthClientSecret, stdioEnv } = found.connection;
  const sealed = { token, headers, oauthClientSecret, stdioEnv };
  return { ...secrets.open({ id, sealed }), env: secrets.openStdioEnv(id, stdioEnv) };
}

const URL = 'https://mcp.example.com/mcp';
const UNREACHABLE = 'http://127.0.0.1:9/mcp';

describe('an import', () => {
  it('creates connections of both kinds, in the order of the file', async () => {
    const names = [newId(), newId(), newId()] as const;
    const items = await importAll({
      [names[0]]: { command: 'npx', args: ['-y', 'server'], env: { APP_TOKEN: 's3cret' }, cwd: '/tmp' },
      [names[1]]: { url: URL, headers: { authorization: 'bearer t0ken', 'X-Team': 'red' }, type: 'http' },
      [names[2]]: { serverUrl: URL, disabled: true, alwaysAllow: ['a'], timeout: 5 },
    });
    expect(items).toEqual(names.map((name) => ({ name, action: 'create', id: expect.any(String) })));
    const [program, address, disabled] = await Promise.all(items.map(({ id }) => get(id)));
    expect(program).toMatchObject({
      title: names[0],
      import_name: names[0],
      connection_type: 'STDIO',
      status: 'active',
      stdio: { command: 'npx', args: ['-y', 'server'], env: { APP_TOKEN: '***' }, cwd: '/tmp' },
    });
    expect(address).toMatchObject({
      connection_type: 'HTTP',
      connection_url: URL,
      connection_token: '***',
      connection_headers: { headers: { 'X-Team': '***' } },
    });
    expect(disabled).toMatchObject({ connection_url: URL, status: 'inactive', connection_token: null });
    expect(await secretsOf(items[0]?.id)).toMatchObject({ env: { APP_TOKEN: 's3cret' } });
    expect(await secretsOf(items[1]?.id)).toMatchObject({ bearerToken: 't0ken', headers: { 'X-Team': 'red' } });
  });

  it('takes entries with names that every object inherits, and refuses only the entry that uses one inside', async () => {
    const names = ['toString', 'constructor', 'hasOwnProperty', 'valueOf', 'toJSON', 'then'];
    const entries = Object.fromEntries(names.map((name) => [name, { url: URL, toString: 'ignored' }]));
    const headers = { toString: 'x' };
    const [refused, ...created] = await importAll({ headers: { url: URL, headers }, ...entries });
    expect(refused).toMatchObject({ name: 'headers', action: 'refused' });
    expect(created).toEqual(names.map((name) => ({ name, action: 'create', id: expect.any(String) })));
    expect((await get(created[0]?.id)).title).toBe('toString');
    expect((await importAll(entries)).map(({ action }) => action)).toEqual(names.map(() => 'unchanged'));
  });

  it('changes nothing when it is repeated, and updates what has changed, but not the title', async () => {
    const name = newId();
    const entry = { url: URL, headers: { Authorization: 'Bearer one', 'X-Team': 'red' } };
    const { id } = await importOne(entry, name);
    expect(await importOne(entry, name)).toEqual({ name, action: 'unchanged', id });
    await app.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { title: 'Mine', timeout: 5000 } }).expect(200);
    for (const changed of [
      { url: URL, headers: { Authorization: 'Bearer two', 'X-Team': 'red' } },
      { url: URL, headers: { Authorization: 'Bearer two', 'X-Team': 'blue' } },
      { url: 'https://other.example.com/mcp', headers: { Authorization: 'Bearer two' } },
      { url: 'https://other.example.com/mcp' },
      { url: 'https://other.example.com/mcp', disabled: true },
      { url: 'https://other.example.com/mcp' },
    ]) {
      expect(await importOne(changed, name)).toEqual({ name, action: 'update', id });
      expect(await importOne(changed, name)).toEqual({ name, action: 'unchanged', id });
    }
    expect(await get(id)).toMatchObject({
      title: 'Mine',
      timeout: 5000,
      connection_url: 'https://other.example.com/mcp',
      connection_token: null,
      connection_headers: null,
      status: 'active',
    });
  });

  it('updates programs', async () => {
    const name = newId();
    const { id } = await importOne({ command: 'node', args: ['a.js'], env: { APP_KEY: 'one' } }, name);
    expect(await importOne({ command: 'node', args: ['a.js'], env: { APP_KEY: 'one' } }, name)).toMatchObject({
      action: 'unchanged',
    });
    expect(await importOne({ command: 'node', args: ['a.js'], env: { APP_KEY: 'two' } }, name)).toMatchObject({
      action: 'update',
      id,
    });
    expect(await importOne({ command: 'npx', args: ['b'] }, name)).toMatchObject({ action: 'update', id });
    expect(await get(id)).toMatchObject({ stdio: { command: 'npx', args: ['b'], env: {}, cwd: null } });
    expect(await importOne({ url: URL }, name)).toEqual({
      name,
      action: 'refused',
      reason: expect.stringContaining('STDIO'),
      id,
    });
  });

  it('only says what it would do in a dry run', async () => {
    const before = await count();
    const name = newId();
    expect(await importOne({ url: URL }, name, { dry_run: true })).toEqual({ name, action: 'create' });
    expect(await importOne({ command: 'rm' }, name, { dry_run: true })).toMatchObject({ action: 'refused' });
    expect(await count()).toBe(before);
    const { id } = await importOne({ url: URL }, name);
    const other = { url: 'https://other.example.com/mcp' };
    expect(await importOne(other, name, { dry_run: true })).toEqual({ name, action: 'update', id });
    expect((await get(id)).connection_url).toBe(URL);
  });

  it('makes one connection when it is sent several times at once', async () => {
    const before = await count();
    const name = newId();
    const items = await Promise.all([1, 2, 3, 4].map(() => importOne({ url: URL }, name)));
    expect(items.map(({ action }) => action).toSorted()).toEqual(['create', 'unchanged', 'unchanged', 'unchanged']);
    expect(new Set(items.map(({ id }) => id)).size).toBe(1);
    expect(await count()).toBe(before + 1);
  });

  it.each<[unknown, RegExp]>([
    ['npx', /object/],
    [['npx'], /object/],
    [{}, /neither/],
    [{ command: 'npx', url: URL }, /both/],
    [{ url: URL, serverUrl: URL }, /several/],
    [{ url: URL, type: 'sse' }, /SSE/],
    [{ url: URL, transport: 'sse' }, /SSE/],
    [{ url: URL, type: 'stdio' }, /type http/],
    [{ command: 'npx', type: 'http' }, /type stdio/],
    [{ command: 'rm', args: ['-rf', '/'] }, /STDIO_COMMANDS/],
    [{ command: '/bin/node' }, /STDIO_COMMANDS/],
    [{ command: 5 }, /command/],
    [{ command: 'npx', args: 'server' }, /args/],
    [{ command: 'npx', args: [1] }, /args/],
    [{ command: 'npx', env: { APP_A: 1 } }, /env/],
    [{ command: 'npx', env: ['APP_A=1'] }, /env/],
    [{ command: 'npx', env: { LD_PRELOAD: '/tmp/x.so' } }, /env/],
    [{ command: 'npx', cwd: 'relative' }, /cwd/],
    [{ command: 'npx', env: { APP_A: '***' } }, /\*\*\*/],
    [{ command: 'npx', args: ['--key=${KEY}'] }, /^args.* placeholder/],
    [{ command: 'npx', env: { APP_KEY: '${input:key}' } }, /^env\.APP_KEY has a placeholder/],
    [{ url: 'https://${HOST}/mcp' }, /^url has a placeholder/],
    [{ url: URL, headers: { Authorization: 'Bearer ${TOKEN}' } }, /^headers\.Authorization has a placeholder/],
    [{ url: 'ftp://example.com' }, /connection_url/],
    [{ url: 5 }, /connection_url/],
    [{ url: URL, headers: 'Authorization: x' }, /headers/],
    [{ url: URL, headers: { Host: 'other' } }, /Host/i],
    [{ url: URL, disabled: 'yes' }, /disabled/],
  ])('refuses %j and does the others', async (entry, reason) => {
    const [bad, good] = [newId(), newId()];
    const items = await importAll({ [bad]: entry, [good]: { httpUrl: URL } });
    expect(items).toEqual([
      { name: bad, action: 'refused', reason: expect.stringMatching(reason) },
      { name: good, action: 'create', id: expect.any(String) },
    ]);
  });

  it.each([
    ['a name of 129 characters', 'n'.repeat(129)],
    ['an empty name', ''],
    ['a name of two lines', 'a\nb'],
  ])('refuses %s', async (_, name) => {
    expect(await importOne({ url: URL }, name)).toMatchObject({ name, action: 'refused', reason: expect.any(String) });
  });

  it('does not repeat secrets in its reasons', async () => {
    const secret = 'pa55word-in-the-wrong-place';
    const items = await importAll({
      [newId()]: { command: secret },
      [newId()]: { url: secret },
      [newId()]: { url: URL, headers: { Authorization: `Bearer ${secret} more` } },
      [newId()]: { command: 'npx', env: { APP_A: [secret] } },
      [newId()]: { url: URL, type: secret },
    });
    expect(JSON.stringify(items)).not.toContain(secret);
  });

  it.each<[string, unknown]>([
    ['201 servers', Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`s${index}`, { url: URL }]))],
    ['1,000 servers', Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`s${index}`, { url: URL }]))],
    ['a list', [{ url: URL }]],
    ['null', null],
    ['nothing', undefined],
  ])('of %s is refused as a whole', async (_, mcpServers) => {
    const before = await count();
    expectProblem(await send(mcpServers), 400, 'invalid_request');
    expect(await count()).toBe(before);
  });

  it('of no server does nothing', async () => {
    expect(await importAll({})).toEqual([]);
    expectProblem(await send({}, { dryRun: true }), 400, 'invalid_request');
  });

  it('needs the permissions to create and to update, and CONNECTION_STDIO for programs', async () => {
    const keyWith = async (...self: string[]): Promise<string> =>
      (await app.tool('API_KEY_CREATE', { name: 'k', permissions: { self } }).expect(200)).body.key;
    const [create, update] = ['COLLECTION_CONNECTIONS_CREATE', 'COLLECTION_CONNECTIONS_UPDATE'];
    for (const self of [[create], [update], ['CONNECTION_IMPORT']] as string[][]) {
      expectProblem(await send({}, {}, await keyWith(...self)), 403, 'permission_denied');
    }
    const mcpServers = { [newId()]: { url: URL }, [newId()]: { command: 'npx' } };
    const { body } = await send(mcpServers, {}, await keyWith(create ?? '', update ?? '')).expect(200);
    expect(body.items).toMatchObject([
      { action: 'create' },
      { action: 'refused', reason: expect.stringContaining('CONNECTION_STDIO') },
    ]);
  });

  it('that switches the pin on approves what is listed at that moment', async () => {
    const server = await startLegacyServer();
    try {
      const [name, late] = [newId(), newId()];
      const changed = { name: 'first', description: 'Another', inputSchema: { type: 'object' as const } };
      const { id } = await importOne({ url: server.url }, name);
      expect(await importOne({ url: server.url, pin: 'block' }, name)).toEqual({ name, action: 'update', id });
      const { id: created } = await importOne({ url: server.url, pin: 'warn' }, late);
      server.offered.tools = [changed];
      for (const pinned of [id, created]) {
        const { body } = await app.tool('CONNECTION_TOOLS_DIFF', { id: pinned }).expect(200);
        expect(body).toMatchObject({ total: 1, items: [{ name: 'first', status: 'changed' }] });
      }
      expect(await importOne({ url: server.url }, name)).toEqual({ name, action: 'unchanged', id });
      expect((await get(id)).pin).toBe('block');
    } finally {
      await server.close();
    }
  });

  it('needs CONNECTION_TOOLS_APPROVE to make a pin weaker, also in a dry run', async () => {
    const name = newId();
    const importer = ['COLLECTION_CONNECTIONS_CREATE', 'COLLECTION_CONNECTIONS_UPDATE'];
    const keyOf = async (self: string[]): Promise<string> =>
      (await app.tool('API_KEY_CREATE', { name: 'k', permissions: { self } }).expect(200)).body.key;
    const [key, approver] = [await keyOf(importer), await keyOf([...importer, 'CONNECTION_TOOLS_APPROVE'])];
    const sendPin = async (by: string, pin: string, more = {}): Promise<ConnectionImportItem> =>
      (await send({ [name]: { url: UNREACHABLE, pin } }, more, by).expect(200)).body.items[0];
    const { id } = await importOne({ url: UNREACHABLE, pin: 'warn' }, name);
    expect(await sendPin(key, 'block')).toMatchObject({ action: 'update' });
    for (const pin of ['warn', 'off']) {
      const refused = { name, action: 'refused', reason: expect.stringContaining('CONNECTION_TOOLS_APPROVE') };
      expect(await sendPin(key, pin, { dry_run: true })).toEqual(refused);
      expect(await sendPin(key, pin)).toEqual(refused);
      expect((await get(id)).pin).toBe('block');
    }
    expect(await sendPin(approver, 'off')).toMatchObject({ action: 'update' });
  });

  it('stays within its organization', async () => {
    const name = newId();
    const { id } = await importOne({ url: URL }, name);
    const second = await startSecondOrganization(app, 'second');
    const theirs = await second.tool('CONNECTION_IMPORT', {
      mcpServers: { [name]: { url: 'https://theirs.example.com/mcp' }, [newId()]: { command: 'npx' } },
    });
    expect(theirs.body.items).toMatchObject([{ action: 'create' }, { action: 'refused' }]);
    expect(theirs.body.items[0].id).not.toBe(id);
    expect((await get(id)).connection_url).toBe(URL);
  });
});
