import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { AnswerBudget } from '../../src/core/answers/answer-budget.js';
import { AnswerRooms } from '../../src/core/answers/answer-room.js';
import { type StdioLimits, StdioProcesses } from '../../src/upstreams/stdio/stdio-processes.js';
import { StdioUpstream } from '../../src/upstreams/stdio/stdio-upstream.js';
import { UpstreamError } from '../../src/upstreams/contract/upstream-error.js';
import type { StdioTarget } from '../../src/upstreams/contract/upstream-target.js';
import type { Upstream } from '../../src/upstreams/contract/upstream.js';
import { eventually } from '../support/eventually.js';
import { isAlive } from '../support/is-alive.js';

const modules = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/', import.meta.url));
const fixtures = fileURLToPath(new URL('../support/stdio-fixtures/', import.meta.url));
const EVERYTHING = join(modules, 'server-everything/dist/index.js');
const MINI = join(fixtures, 'mini-server.mjs');
const NO_SERVER = join(fixtures, 'no-server.mjs');

const LIMITS: StdioLimits = {
  maxProcesses: 8,
  idleMs: 60_000,
  maxMemoryBytes: 512 * 2 ** 20,
  environment: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' },
  hasOthers: async () => false,
  rooms: new AnswerRooms(new AnswerBudget()),
};

Logger.overrideLogger(false);

const pools: StdioProcesses[] = [];
const directories: string[] = [];

function processes(limits: Partial<StdioLimits> = {}): StdioProcesses {
  const made = new StdioProcesses({ ...LIMITS, ...limits });
  pools.push(made);
  return made;
}

function target(args: readonly string[], rest: Partial<StdioTarget> = {}): StdioTarget {
  const identity = { connectionId: args.join(' '), revision: '1', timeoutMs: 20_000 };
  return { kind: 'stdio', organizationId: 'o', ...identity, command: 'node', args, env: {}, cwd: '/', ...rest };
}

function connect(args: readonly string[], rest: Partial<StdioTarget> = {}, pool = processes()): Upstream {
  return new StdioUpstream(target(args, rest), pool);
}

async function say(upstream: Upstream, tool: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await upstream.callTool(tool, args);
  return (content as { text: string }[]).map(({ text }) => text).join('');
}

async function failure(work: Promise<unknown>): Promise<UpstreamError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UpstreamError);
  return error as UpstreamError;
}

async function gone(pid: number): Promise<void> {
  await eventually(() => !isAlive(pid));
}

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'stdio-'));
  directories.push(directory);
  return directory;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.onApplicationShutdown()));
  await Promise.all(directories.splice(0).map((directory) => rm(directory, { recursive: true })));
});

describe('StdioUpstream with real servers', () => {
  it('lists and calls the tools of server-everything', async () => {
    const upstream = connect([EVERYTHING, 'stdio']);
    expect(upstream.protocolVersion).toBeUndefined();
    const tools = await upstream.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum']));
    expect(upstream.protocolVersion).toBe('2025-11-25');
    expect((await upstream.serverDescription()).serverInfo).toMatchObject({ name: 'mcp-servers/everything' });
    expect(await say(upstream, 'echo', { message: 'hi' })).toBe('Echo: hi');
    await expect(upstream.request('resources/list', undefined)).resolves.toMatchObject({
      resources: expect.any(Array),
    });
  });

  it('relays progress', async () => {
    const progress: unknown[] = [];
    await connect([EVERYTHING, 'stdio']).callTool(
      'trigger-long-running-operation',
      { duration: 0.3, steps: 3 },
      { onProgress: (step) => progress.push(step) },
    );
    expect(progress).toEqual([1, 2, 3].map((step) => expect.objectContaining({ progress: step, total: 3 })));
  });

  it('gives a program its own variables, and none of this process', async () => {
    process.env['DATABASE_URL'] = 'postgres://secret';
    const upstream = connect([EVERYTHING, 'stdio'], { env: { API_TOKEN: 'sealed value' } });
    const environment = JSON.parse(await say(upstream, 'get-env')) as Record<string, string>;
    delete process.env['DATABASE_URL'];
    expect(environment).toMatchObject({ API_TOKEN: 'sealed value', HOME: '/nonexistent' });
    expect(Object.keys(environment).toSorted()).toEqual(['API_TOKEN', 'HOME', 'PATH']);
  });

  it('works in a directory with server-filesystem, and with server-memory', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'note.txt'), 'a note');
    const pool = processes();
    const files = connect([join(modules, 'server-filesystem/dist/index.js'), directory], {}, pool);
    expect(await say(files, 'read_text_file', { path: join(directory, 'note.txt') })).toBe('a note');
    await expect(files.callTool('read_text_file', { path: '/etc/passwd' })).resolves.toMatchObject({ isError: true });

    const env = { MEMORY_FILE_PATH: join(directory, 'memory.json') };
    const memory = connect([join(modules, 'server-memory/dist/index.js')], { env }, pool);
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
    await memory.callTool('create_entities', { entities });
    expect(await say(memory, 'search_nodes', { query: 'Ada' })).toContain('counts');
    expect(existsSync(env.MEMORY_FILE_PATH)).toBe(true);
  });
});

describe('large answers of a program', () => {
  const TEXT = 'x'.repeat(100_000);

  function open(memory: number) {
    const budget = new AnswerBudget(memory);
    const room = new AnswerRooms(budget).open({ organization: { id: 'o' }, callerId: 'key' });
    return { budget, room };
  }

  it('have room until it is left', async () => {
    const { budget, room } = open(2 ** 20);
    const upstream = connect([MINI]);
    await upstream.callTool('echo', { text: 'small' }, { room });
    expect(budget.heldBytes).toBe(0);
    await upstream.callTool('echo', { text: TEXT }, { room });
    expect(budget.heldBytes).toBeGreaterThan(2 * TEXT.length);
    room.leave();
    expect(budget.heldBytes).toBe(0);
  });

  it('have room if the program writes the id of the call as text', async () => {
    const { budget, room } = open(2 ** 20);
    await connect([MINI, '--textual']).callTool('echo', { text: TEXT }, { room });
    expect(budget.heldBytes).toBeGreaterThan(2 * TEXT.length);
  });

  it('fail their call alone if there is no room', async () => {
    const { room } = open(1_000);
    room.reserve(200);
    const upstream = connect([MINI]);
    const [refused, text] = await Promise.all([
      failure(upstream.callTool('echo', { text: TEXT }, { room })),
      say(upstream, 'echo', { text: TEXT }),
    ]);
    expect(refused.kind).toBe('busy');
    expect(text).toBe(TEXT);
  });

  it('of the modern era have room while their caller does not read them', async () => {
    const rooms = new AnswerRooms(new AnswerBudget(2 ** 20));
    const upstream = new StdioUpstream(target([join(fixtures, 'raw-modern-server.mjs')]), processes({ rooms }));
    const send = async (id: string, method: string, params: object) => {
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      const { signal } = new AbortController();
      return (await upstream.forward({ body, method, id: JSON.stringify(id) }, { signal, caller: 'key' })).body;
    };
    const unread = (await send('a', 'subscriptions/listen', { notifications: {} })) as Readable;
    await send('b', 'tools/call', { name: 'flood', arguments: { times: 1_000 } });
    await eventually(() => expect(unread.errored).toMatchObject({ kind: 'busy' }));
  });
});

describe('StdioUpstream', () => {
  it('uses the modern era with a program that supports it', async () => {
    const upstream = connect([join(fixtures, 'modern-server.mjs')]);
    expect((await upstream.listTools()).map(({ name }) => name)).toEqual(['echo']);
    expect(upstream.protocolVersion).toBe('2026-07-28');
    expect((await upstream.serverDescription()).instructions).toBe('Be modern.');
    expect(await say(upstream, 'echo', { text: 'hi' })).toBe('hi');
  });

  it('gives many callers of one process their own answers', async () => {
    const upstream = connect([MINI]);
    const texts = Array.from({ length: 100 }, (_, n) => `text ${n} ${'x'.repeat((n % 7) * 1000)}`);
    const answers = await Promise.all(texts.map((text) => say(upstream, 'echo', { text })));
    expect(answers).toEqual(texts);
    expect(new Set(await Promise.all([say(upstream, 'pid'), say(upstream, 'pid')])).size).toBe(1);
  });

  it('reports that the program ended, and restarts it with the next call', async () => {
    const upstream = connect([MINI]);
    const first = await say(upstream, 'pid');
    const waiting = failure(upstream.callTool('never', {}));
    const error = await failure(upstream.callTool('exit', { code: 4 }));
    expect(error).toMatchObject({
      kind: 'unreachable',
      message: 'The upstream at stdio:node exited with code 4.',
    });
    expect(await waiting).toEqual(error);
    expect(await say(upstream, 'pid')).not.toBe(first);
  });

  it('fails fast while a program fails repeatedly, and recovers', async () => {
    const marker = join(await temporaryDirectory(), 'marker');
    const upstream = connect([MINI, `--fresh=${marker}`]);
    const kinds: string[] = [];
    let error: UpstreamError;
    do {
      error = await failure(upstream.listTools());
      kinds.push(error.message);
    } while (!error.message.includes('failed repeatedly'));
    expect(kinds.slice(0, -1)).toEqual(kinds.slice(0, -1).map(() => expect.stringContaining('exited with code 3')));
    expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringMatching(/can be restarted in \d+ s/) });

    await writeFile(marker, '');
    await eventually(() => upstream.listTools().catch(() => false));
    expect(await say(upstream, 'echo', { text: 'well again' })).toBe('well again');
  });

  it.each([
    ['a command that does not exist', { command: 'no-such-command-anywhere' }, 'the command was not found'],
    ['a directory that does not exist', { cwd: '/no/such/directory' }, 'its working directory does not exist'],
    ['a file that is not a program', { command: MINI }, 'no permission to execute it'],
  ])('explains %s', async (_name, rest, words) => {
    const error = await failure(connect([MINI], rest).listTools());
    expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining(words) });
  });

  it('gives up on a program that ends at once', async () => {
    const error = await failure(connect([NO_SERVER, 'exits']).listTools());
    expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('exited with code 7') });
  });

  it.each([
    ['prints nothing', 'silent'],
    ['reads nothing', 'deaf'],
    ['prints only noise', 'babbles'],
  ])('gives up on a program that %s', async (_name, behaviour) => {
    const error = await failure(connect([NO_SERVER, behaviour], { timeoutMs: 1_500 }).listTools());
    expect(error).toMatchObject({ kind: 'timeout', message: expect.stringContaining('did not answer within 1500 ms') });
  });

  it('quotes the end of what a program says on standard error, without secrets', async () => {
    const env = { SERVICE_KEY: 'a-key-of-the-service' };
    const ended = await failure(connect([NO_SERVER, 'complains'], { env }).listTools());
    expect(ended.message).toBe(
      'The upstream at stdio:node exited with code 9. The end of its standard error: ' +
        'line 3 | line 4 | line 5 | line 6 | line 7 | line 8 | line 9 | Cannot use *** at https://***@host',
    );
    // A program can take longer than that until it says something.
    await eventually(async () => {
      const silent = await failure(connect([NO_SERVER, 'installs'], { env, timeoutMs: 1_500 }).listTools());
      expect(silent).toMatchObject({ kind: 'timeout', message: expect.stringContaining(': Installing with ***') });
    });
  });

  it('ends a program that prints an endless line', async () => {
    const error = await failure(connect([NO_SERVER, 'endless']).listTools());
    expect(error).toMatchObject({ kind: 'protocol', message: expect.stringContaining('a line of more than') });
  });

  it('reads messages in pieces and between other lines', async () => {
    const upstream = connect([MINI, '--garbage']);
    expect(await say(upstream, 'echo', { text: 'through the noise' })).toBe('through the noise');
  });

  it('supports a program that exits on the probe for the modern era', async () => {
    const upstream = connect([MINI, '--offended']);
    expect(await say(upstream, 'echo', { text: 'hello' })).toBe('hello');
    await failure(upstream.callTool('exit', {}));
    expect(await say(upstream, 'echo', { text: 'hello again' })).toBe('hello again');
  });

  it('gives up a call after its time limit, and continues', async () => {
    const upstream = connect([MINI]);
    await upstream.listTools();
    const error = await failure(upstream.callTool('never', {}, { timeoutMs: 200 }));
    expect(error).toMatchObject({
      kind: 'timeout',
      message: 'The upstream at stdio:node did not answer within 200 ms.',
    });
    expect(await say(upstream, 'echo', { text: 'on' })).toBe('on');
  });

  it('ends all child processes of the program, even if they ignore signals', async () => {
    const pool = processes();
    const upstream = connect([MINI, '--stubborn'], {}, pool);
    const family = (await say(upstream, 'family')).split(' ').map(Number);
    expect(family.map(isAlive)).toEqual([true, true]);
    await upstream.close();
    await Promise.all(family.map(gone));
  });

  it('ends the processes that a program leaves behind when it exits', async () => {
    const upstream = connect([MINI]);
    const [, child] = (await say(upstream, 'family')).split(' ').map(Number);
    await failure(upstream.callTool('exit', {}));
    await gone(child ?? 0);
  });

  it('stops a program that uses too much memory', async () => {
    const upstream = connect([MINI], {}, processes({ maxMemoryBytes: 200 * 2 ** 20, idleMs: 1_000 }));
    const error = await failure(say(upstream, 'hog', { mebibytes: 300 }).then(() => upstream.callTool('never', {})));
    expect(error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('more than 200 MiB') });
  });

  it.each([[[MINI]], [[MINI, '--textual']]])(
    'stops an idle program, and restarts it when it is used: %j',
    async (args) => {
      const upstream = connect(args, {}, processes({ idleMs: 200 }));
      const first = Number(await say(upstream, 'pid'));
      await gone(first);
      expect(Number(await say(upstream, 'pid'))).not.toBe(first);
    },
  );

  it('stops the least recently used program for a new one, and refuses when all are busy', async () => {
    const pool = processes({ maxProcesses: 2 });
    const [a, b, c] = ['a', 'b', 'c'].map((connectionId) => connect([MINI], { connectionId }, pool)) as [
      Upstream,
      Upstream,
      Upstream,
    ];
    const first = Number(await say(a, 'pid'));
    const second = Number(await say(b, 'pid'));
    await say(a, 'echo', { text: 'still here' });
    await say(c, 'pid');
    await gone(second);
    expect(isAlive(first)).toBe(true);

    const busy = [a, c].map((upstream) => failure(upstream.callTool('never', {}, { timeoutMs: 3_000 })));
    await sleep(100);
    expect(await failure(b.listTools())).toMatchObject({ kind: 'busy' });
    await Promise.all(busy);
    expect(await say(b, 'echo', { text: 'at last' })).toBe('at last');
  });

  it('starts no programs after the shutdown', async () => {
    const pool = processes();
    const upstream = connect([MINI], {}, pool);
    const pid = Number(await say(upstream, 'pid'));
    await pool.onApplicationShutdown();
    expect(isAlive(pid)).toBe(false);
    expect(await failure(upstream.listTools())).toMatchObject({ kind: 'cancelled' });
  });
});
