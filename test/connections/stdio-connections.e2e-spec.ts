import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { ConnectionDirectory } from '../../src/connections/connection-directory.js';
import { UpstreamPool } from '../../src/upstreams/pool/upstream-pool.js';
import { UpstreamTargets } from '../../src/upstreams/pool/upstream-targets.js';
import { startTestApp } from '../support/app.js';

const MINI = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));
const SECRET = 'value-that-nobody-may-see-0123456789';

interface Item {
  id: string;
  stdio: { command: string; args: string[]; env: Record<string, string>; cwd: string | null } | null;
  [field: string]: unknown;
}

interface Answer {
  status: number;
  body: { item: Item; code: string; detail: string; errors: { path: string; code: string; message: string }[] };
  text: string;
}

let service: Awaited<ReturnType<typeof startTestApp>>;
const lines: string[] = [];

beforeAll(async () => {
  service = await startTestApp({
    env: { STDIO_COMMANDS: 'node', STDIO_ENV_ALLOW: 'ZONE,A', LOG_LEVEL: 'info' },
    onLogLine: (line) => lines.push(line),
  });
});
afterAll(() => service?.close());

async function tool(name: string, body: object, key = service.apiKey): Promise<Answer> {
  const answer: Answer = await service.tool(name, body, key);
  expect(answer.text).not.toContain('nobody-may-see');
  return answer;
}

function create(stdio: unknown, rest: object = {}, key = service.apiKey): Promise<Answer> {
  const data = { connection_type: 'STDIO', title: 'Program', stdio, ...rest };
  return tool('COLLECTION_CONNECTIONS_CREATE', { data }, key);
}

function update(id: string, data: object, key = service.apiKey): Promise<Answer> {
  return tool('COLLECTION_CONNECTIONS_UPDATE', { id, data }, key);
}

async function created(stdio: object): Promise<Item> {
  const answer = await create(stdio);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.item;
}

async function keyFor(...self: string[]): Promise<string> {
  const answer = await service.tool('API_KEY_CREATE', { name: 'limited', permissions: { self } });
  return (answer.body as { key: string }).key;
}

async function test(id: string): Promise<{ ok: boolean; tools: number; error?: string }> {
  const answer = await service.tool('CONNECTION_TEST', { id });
  expect(answer.status).toBe(200);
  return answer.body as { ok: boolean; tools: number; error?: string };
}

async function rowOf(id: string): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown>[] = await service.app
    .get(DataSource)
    .query('SELECT * FROM connections WHERE id = $1', [id]);
  return rows[0] ?? {};
}

/** What the program was started with, as it says itself; the fixture answers with its environment. */
async function environmentOf(id: string): Promise<Record<string, string>> {
  const connection = await service.app.get(ConnectionDirectory).findAnywhere(id);
  if (connection === undefined) throw new Error('There is no such connection.');
  const target = service.app.get(UpstreamTargets).targetFor(connection);
  const { content } = await service.app
    .get(UpstreamPool)
    .use(target, (upstream) => upstream.callTool('environment', {}));
  return JSON.parse((content as { text: string }[])[0]?.text ?? '{}') as Record<string, string>;
}

describe('STDIO connections', () => {
  it('are created, shown without the values of their variables, and tested', async () => {
    const item = await created({ command: 'node', args: [MINI], env: { API_TOKEN: SECRET, REGION: 'north' } });
    expect(item).toMatchObject({
      connection_type: 'STDIO',
      connection_url: null,
      connection_token: null,
      connection_headers: null,
      stdio: { command: 'node', args: [MINI], env: { API_TOKEN: '***', REGION: '***' }, cwd: null },
      status: 'active',
    });
    expect(await test(item.id)).toMatchObject({ ok: true, tools: 10, protocol_version: '2025-11-25' });
    expect((await tool('COLLECTION_CONNECTIONS_GET', { id: item.id })).body.item).toMatchObject({ stdio: item.stdio });
  });

  it('keep their variables encrypted', async () => {
    const { id } = await created({ command: 'node', args: [MINI], env: { API_TOKEN: SECRET } });
    const row = await rowOf(id);
    expect(JSON.stringify(row)).not.toContain('nobody-may-see');
    expect(row).toMatchObject({ stdio_env: expect.stringMatching(/^v1\./), stdio_env_names: ['API_TOKEN'] });

    const other = await created({ command: 'node', args: [MINI], env: { API_TOKEN: SECRET } });
    await service.app
      .get(DataSource)
      .query('UPDATE connections SET stdio_env = $2 WHERE id = $1', [other.id, row['stdio_env']]);
    expect(await test(other.id)).toMatchObject({ ok: false, error: expect.stringContaining('cannot be decrypted') });
  });

  it('give the program its variables, and none of the service', async () => {
    process.env['DATABASE_URL'] = service.database.url;
    const { id } = await created({ command: 'node', args: [MINI], env: { API_TOKEN: SECRET }, cwd: '/tmp' });
    const environment = await environmentOf(id);
    delete process.env['DATABASE_URL'];
    expect(environment).toMatchObject({ API_TOKEN: SECRET, cwd: '/tmp' });
    expect(Object.keys(environment)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/DATABASE_URL|ENCRYPTION_KEYS|BOOTSTRAP|^npm_|^JEST/)]),
    );
  });

  it('replace the whole program in an update, and keep values that "***" stands for', async () => {
    const { id } = await created({ command: 'node', args: [MINI], env: { API_TOKEN: SECRET, REGION: 'north' } });
    const kept = await update(id, { stdio: { command: 'node', args: [MINI], env: { API_TOKEN: '***', ZONE: 'one' } } });
    expect(kept.body.item.stdio?.env).toEqual({ API_TOKEN: '***', ZONE: '***' });
    expect(await environmentOf(id)).toMatchObject({ API_TOKEN: SECRET, ZONE: 'one' });
    expect(await environmentOf(id)).not.toHaveProperty('REGION');
    expect((await rowOf(id))['revision']).toBe(2);

    const bare = await update(id, { stdio: { command: 'node', args: [MINI] } });
    expect(bare.body.item.stdio?.env).toEqual({});
    expect(await rowOf(id)).toMatchObject({ stdio_env: null, stdio_env_names: [] });
  });

  it.each([
    ['arguments', { args: ['-p', 'process.env.API_TOKEN'] }],
    ['a directory', { cwd: '/tmp' }],
  ])('do not hand stored values to a program with other %s', async (_name, change) => {
    const { id } = await created({ command: 'node', args: [MINI], env: { API_TOKEN: SECRET } });
    const before = await rowOf(id);
    const stdio = { command: 'node', args: [MINI], env: { API_TOKEN: '***' }, ...change };
    expect(await update(id, { stdio })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'data.stdio.env', code: 'credentials_kept' }] },
    });
    expect(await rowOf(id)).toEqual(before);
  });

  it('require the permission to run programs on the server', async () => {
    const { id } = await created({ command: 'node', args: [MINI] });
    const editor = await keyFor('COLLECTION_CONNECTIONS_CREATE', 'COLLECTION_CONNECTIONS_UPDATE');
    const denied = {
      status: 403,
      body: { code: 'permission_denied', detail: expect.stringContaining('CONNECTION_STDIO') },
    };
    expect(await create({ command: 'node' }, {}, editor)).toMatchObject(denied);
    expect(await create({ command: 'sh' }, {}, editor)).toMatchObject(denied);
    expect(await update(id, { stdio: { command: 'node', args: [MINI] } }, editor)).toMatchObject(denied);
    expect(await update(id, { title: 'Renamed' }, editor)).toMatchObject({ status: 200 });

    const operator = await keyFor('COLLECTION_CONNECTIONS_CREATE', 'CONNECTION_STDIO');
    expect(await create({ command: 'node' }, {}, operator)).toMatchObject({ status: 200 });
  });

  it.each(['npx', '/usr/bin/node', './node', '../node', 'node ', ' node', 'NODE', 'node -e 1', ''])(
    'run no other command: %j',
    async (command) => {
      const answer = await create({ command });
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      expect(answer.body.errors.map(({ path }) => path)).toEqual(['data.stdio.command']);
    },
  );

  it.each<[name: string, stdio: unknown, path: string]>([
    ['no program', undefined, 'data.stdio'],
    ['null', null, 'data.stdio'],
    ['a program that is text', 'node', 'data.stdio'],
    ['no command', { args: [] }, 'data.stdio.command'],
    ['a command that is a list', { command: ['node'] }, 'data.stdio.command'],
    ['an unknown property', { command: 'node', shell: true }, 'data.stdio.shell'],
    ['arguments that are text', { command: 'node', args: '-v' }, 'data.stdio.args'],
    ['an argument that is a number', { command: 'node', args: [1] }, 'data.stdio.args'],
    ['an argument with NUL', { command: 'node', args: ['a\u0000b'] }, 'data.stdio.args[0]'],
    ['too many arguments', { command: 'node', args: Array(65).fill('a') }, 'data.stdio.args'],
    ['a long argument', { command: 'node', args: ['a'.repeat(4097)] }, 'data.stdio.args'],
    ['variables that are a list', { command: 'node', env: ['A=1'] }, 'data.stdio.env'],
    ['a variable that is a number', { command: 'node', env: { A: 1 } }, 'data.stdio.env'],
    ['a long value', { command: 'node', env: { A: 'a'.repeat(16_385) } }, 'data.stdio.env'],
    ['a value with NUL', { command: 'node', env: { A: 'a\u0000b' } }, 'data.stdio.env.A'],
    ['a name with a blank', { command: 'node', env: { 'A B': '1' } }, 'data.stdio.env'],
    ['a name with an equals sign', { command: 'node', env: { 'A=B': '1' } }, 'data.stdio.env'],
    ['a value in the place of a name', { command: 'node', env: { [`${SECRET}!`]: '' } }, 'data.stdio.env'],
    ['NODE_OPTIONS', { command: 'node', env: { NODE_OPTIONS: '--require=/tmp/x' } }, 'data.stdio.env.NODE_OPTIONS'],
    ['GIT_EXTERNAL_DIFF', { command: 'node', env: { GIT_EXTERNAL_DIFF: 'x' } }, 'data.stdio.env.GIT_EXTERNAL_DIFF'],
    ['LD_PRELOAD', { command: 'node', env: { LD_PRELOAD: '/tmp/x.so' } }, 'data.stdio.env.LD_PRELOAD'],
    ['PATH', { command: 'node', env: { PATH: '/tmp' } }, 'data.stdio.env.PATH'],
    [
      'npm_config_registry',
      { command: 'node', env: { npm_config_registry: 'x' } },
      'data.stdio.env.npm_config_registry',
    ],
    ['a masked value where none is stored', { command: 'node', env: { A: '***' } }, 'data.stdio.env.A'],
    ['a relative directory', { command: 'node', cwd: 'tmp' }, 'data.stdio.cwd'],
  ])('refuse %s', async (_name, stdio, path) => {
    const answer = await create(stdio);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors.map((fault) => fault.path)).toContain(path);
  });

  it.each(['connection_url', 'connection_token', 'connection_headers'])('refuse %s', async (name) => {
    const values = { connection_url: 'http://a.example', connection_token: 't', connection_headers: { headers: {} } };
    const value = { [name]: values[name as keyof typeof values] };
    const fault = { status: 400, body: { errors: [{ path: `data.${name}`, code: 'not_of_stdio' }] } };
    expect(await create({ command: 'node' }, value)).toMatchObject(fault);
    const { id } = await created({ command: 'node', args: [MINI] });
    expect(await update(id, value)).toMatchObject(fault);
  });

  it('tell in a test why the program does not work', async () => {
    const { id } = await created({ command: 'node', args: ['/no/such/file.mjs'] });
    const error = expect.stringMatching(/exited with code 1\. The end of its standard error: .*Cannot find module/);
    expect(await test(id)).toMatchObject({ ok: false, error });
    expect((await tool('COLLECTION_CONNECTIONS_GET', { id })).body.item).toMatchObject({
      status: 'error',
      status_reason: error,
    });
  });

  it("log the program's stderr, without its secrets", async () => {
    const { id } = await created({
      command: 'node',
      args: ['-e', `console.error('token', process.env.API_TOKEN)`],
      env: { API_TOKEN: SECRET },
    });
    await test(id);
    const said = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => 'stderr' in line);
    expect(said).toContainEqual(expect.objectContaining({ level: 'info', connection_id: id, stderr: 'token ***' }));
    expect(lines.join('\n')).not.toContain('nobody-may-see');
  });

  it('are not run any longer when the service no longer runs their command', async () => {
    const { id } = await created({ command: 'node', args: [MINI] });
    const strict = await startTestApp({ database: service.database });
    try {
      const answer = await strict.tool('CONNECTION_TEST', { id }, service.apiKey);
      const error = expect.stringContaining('does not allow the command');
      expect(answer.body).toMatchObject({ ok: false, error });
      const data = { connection_type: 'STDIO', title: 'x', stdio: { command: 'node' } };
      const refused = await strict.tool('COLLECTION_CONNECTIONS_CREATE', { data }, service.apiKey);
      expect(refused.body).toMatchObject({ status: 400, errors: [{ code: 'command_refused' }] });
    } finally {
      await strict.close();
    }
  });

  it('are not run with stored variables that the service no longer lets them set', async () => {
    const { id } = await created({ command: 'node', args: [MINI], env: { API_TOKEN: SECRET, ZONE: 'one' } });
    const strict = await startTestApp({ database: service.database, env: { STDIO_COMMANDS: 'node' } });
    try {
      const answer = await strict.tool('CONNECTION_TEST', { id }, service.apiKey);
      const error = expect.stringContaining('does not allow connections to set ZONE;');
      expect(answer.body).toMatchObject({ ok: false, error });
      const stdio = { command: 'node', args: [MINI], env: { API_TOKEN: SECRET } };
      await strict.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data: { stdio } }, service.apiKey);
      expect((await strict.tool('CONNECTION_TEST', { id }, service.apiKey)).body).toMatchObject({ ok: true });
    } finally {
      await strict.close();
    }
  });
});
