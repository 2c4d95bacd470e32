import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { createTestDatabase } from '../../support/database.js';
import { runProgram } from '../../support/program.js';
import {
  createTestApp,
  startMcpUpstream,
  startScriptedModel,
  UnexpectedStatusError,
} from '../../../src/boot/testing/testing.js';
import { eventually } from '../../support/eventually.js';
import { isAlive } from '../../support/is-alive.js';

const START_MS = 60_000;
const KIT = new URL('../../../dist/boot/testing/testing.js', import.meta.url).href;

/** Runs a script with the kit, in a process with only these environment variables. */
function runScript(script: string, env: Record<string, string>) {
  const source = `import { createTestApp } from '${KIT}';\n${script}`;
  return runProgram(process.execPath, ['--input-type=module', '--eval', source], { env });
}

it(
  'the kit needs no environment variables, and the process ends after the application is closed',
  async () => {
    const script = `
      const app = await createTestApp();
      const thread = await app.createThread(await app.createAgent());
      const { text } = await thread.ask('Hello');
      await app.close();
      console.log(text);`;
    expect(await runScript(script, {})).toEqual({ end: 0, output: 'You said: Hello\n' });
  },
  START_MS,
);

describe('an application that is not closed', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signalbox-unclosed-'));
    // PostgreSQL runs as a separate user if the tests run as root.
    await chmod(folder, 0o755);
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['process.exit()', 'process.exit(3)', 3],
    ['SIGTERM', `process.kill(process.pid, 'SIGTERM')`, 'SIGTERM'],
  ])(
    'removes its database and folder when the process ends by %s',
    async (_end, statement, expected) => {
      const script = `
        import { DataSource } from '${import.meta.resolve('typeorm')}';
        const { app } = await createTestApp();
        const [{ pid }] = await app.get(DataSource).query("SELECT pg_backend_pid() AS pid");
        console.log('backend ' + pid);
        ${statement};`;
      const { end, output } = await runScript(script, { TMPDIR: folder });
      expect(end).toBe(expected);
      const backend = Number(/backend (\d+)/.exec(output)?.[1]);
      await eventually(() => !isAlive(backend));
      expect(await readdir(folder)).toEqual([]);
    },
    START_MS,
  );
});

describe('a test application', () => {
  it(
    'shares a configured database, in an organization of its own',
    async () => {
      const database = await createTestDatabase();
      const env = { DATABASE_URL: database.url };
      // One after the other: two starts at once keep the thread busy for longer than a connection may take.
      const first = await createTestApp({ env });
      const second = await createTestApp({ env });
      expect(first.org).not.toBe(second.org);
      const refused = second.withKey(first.apiKey).tool('RUN_LIST');
      await expect(refused).rejects.toMatchObject({ code: 'organization_mismatch', response: { status: 403 } });
      await Promise.all([first.close(), second.close()]);
      await database.drop();
    },
    START_MS,
  );

  it(
    'uses its own settings, and connects a scripted model, a scripted upstream and a thread',
    async () => {
      await expect(createTestApp({ env: { RUN_CONCURRENCY: 'many' } })).rejects.toThrow('RUN_CONCURRENCY');
      await using app = await createTestApp({ env: { BOOTSTRAP_ORG: 'acme', RUN_CONCURRENCY: '3' } });
      expect(app.org).toBe('acme');
      const [{ current_database: database }] = await app.app.get(DataSource).query('SELECT current_database()');
      expect(database).toBe('signalbox');
      const [model, upstream] = await Promise.all([
        startScriptedModel(),
        startMcpUpstream({
          first: { description: 'The first tool', handler: () => 'one' },
          second: { handler: () => 'two' },
        }),
      ]);
      await app.useModel(model);
      const connection = await app.connect(upstream, { connection_token: 'secret-of-the-connection' });
      const thread = await app.createThread(await app.createAgent([connection]), 'order-1');
      expect(thread.id).toBe('order-1');

      const call = { kind: 'tool-calls' as const, calls: [{ name: 'first', arguments: {} }] };
      model.script(call, { kind: 'text', deltas: ['Done.'] });
      const { taskId, text } = await thread.ask('Start', { system: ['Be brief.'], tier: 'fast' });
      expect(text).toBe('Done.');
      expect(model.requests[0]?.body.tools?.[0]?.function).toMatchObject({
        name: 'first',
        description: 'The first tool',
      });
      expect(upstream.calls).toEqual([
        {
          tool: 'first',
          arguments: {},
          headers: expect.objectContaining({ authorization: 'Bearer secret-of-the-connection' }),
        },
      ]);
      expect((await thread.transcript()).map(({ role }) => role)).toEqual(['system', 'user', 'assistant']);
      expect(await thread.run(taskId)).toMatchObject({ status: 'completed', steps: 2 });

      const asking = await app.createThread(
        await app.createAgent([], { connections: [{ connection_id: connection, approval: ['first'] }] }),
      );
      expect(await asking.pendingApprovals()).toEqual([]);
      const calls = ['first', 'second', 'first'].map((name) => ({ name, arguments: {} }));
      model.script({ kind: 'tool-calls', calls }, { kind: 'text', deltas: ['Answered.'] });
      upstream.calls.length = 0;
      const answering = asking.ask('Start');
      const [one, other, ...more] = await asking.waitForApprovals();
      expect([one?.tool_name, other?.tool_name, more]).toEqual(['first', 'first', []]);
      await asking.answerApproval(one?.id ?? '', true);
      expect(await asking.pendingApprovals()).toEqual([other]);
      await asking.answerApproval(other?.id ?? '', false, 'Once is enough');
      expect((await answering).text).toBe('Answered.');
      expect(upstream.calls.map(({ tool }) => tool)).toEqual(['second', 'first']);
      expect(await asking.pendingApprovals()).toEqual([]);
      await expect(asking.answerApproval(other?.id ?? '', true)).rejects.toMatchObject({ code: 'approval_closed' });

      model.script({ kind: 'hang' });
      const hanging = await thread.post('Wait');
      await thread.waitFor(hanging, 'running');
      await thread.cancel(hanging);
      expect((await thread.waitFor(hanging, 'cancelled', 'failed', 'completed')).status).toBe('cancelled');
      await expect(thread.post('Hello', { temperature: 9 })).rejects.toThrow(UnexpectedStatusError);
      await Promise.all([model.close(), upstream.close()]);
    },
    START_MS,
  );
});
