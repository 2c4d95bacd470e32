import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { type McpUpstream, startMcpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import { connect, createAgent, ThreadClient } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { ServiceProcess, startWorkerProcess } from '../../support/service-process.js';
import type { StreamBackend } from '../../support/stream-backends.js';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.js';

/** So long that only the connections of workers can tell that one has died. */
const ENV = { RUN_LOCK_MS: '600000' };
const START_MS = 60_000;
const LOCKS = `SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE locktype = 'advisory' AND application_name = 'signalbox-worker' AND datname = current_database()`;

/** Workers that will be absent: each executes one run. */
const ABSENT_ENV = { RUN_LOCK_MS: '2000', RUN_CONCURRENCY: '1', UPSTREAM_ALLOW_PRIVATE: 'true', ROLE: 'worker' };
const ABSENT_MS = 120_000;
/**
 * What a worker says that has given up its run. On a slow machine, the stores can be away for longer than it tries
 * again.
 */
const GIVEN_UP = /Another attempt has taken over this run|An attempt failed unexpectedly/;

/** What happens to the runs of a worker that dies, is stopped, or loses its connections. */
export function workerDeathContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`a worker on ${name}`, () => {
    let backend: StreamBackend;
    let api: TestApp;
    let agentId: string;

    beforeAll(async () => {
      backend = await startBackend();
      api = await backend.start({ ...ENV, ROLE: 'api' });
      agentId = await createAgent(api, []);
    });

    afterAll(() => backend?.close());

    async function startRuns(count: number, text: string): Promise<{ thread: ThreadClient; taskId: string }[]> {
      const runs = Array.from({ length: count }, async () => {
        const thread = await ThreadClient.create(api, agentId);
        const taskId = await thread.postMessage(text);
        await thread.waitFor(taskId, 'running', 'completed');
        return { thread, taskId };
      });
      return Promise.all(runs);
    }

    async function lockHolders(): Promise<number[]> {
      const rows: { pid: number }[] = await api.app.get(DataSource).query(LOCKS);
      return rows.map(({ pid }) => pid);
    }

    it(
      'that is killed loses its runs at once to the worker that is started next',
      async () => {
        const doomed = await startWorkerProcess({ ...backend.env, ...ENV });
        const runs = await startRuns(5, 'So far\n/wait 60000');
        await doomed.kill('SIGKILL');
        const next = await backend.start({ ...ENV, ROLE: 'worker' });
        await eventually(async () => {
          for (const { thread, taskId } of runs) expect(await thread.run(taskId)).toMatchObject({ attempt: 2 });
        });
        for (const { thread, taskId } of runs) {
          await thread.cancel(taskId);
          await thread.waitFor(taskId, 'cancelled');
          await thread.expectAnswer(taskId, await thread.collect(taskId));
        }
        await next.close();
      },
      START_MS,
    );

    it(
      'that is stopped or cut off loses its runs to another one, and changes nothing when it is back',
      async () => {
        const gate = Promise.withResolvers<void>();
        const upstream = await startGatedUpstream(gate.promise);
        const agent = await createAgent(api, [await connect(api, upstream.url)]);
        const [silent, cut] = [await startProxies(backend.env), await startProxies(backend.env)];
        const absent = [{}, silent.env, cut.env].map(
          (env) => new ServiceProcess({ ...backend.env, ...ABSENT_ENV, ...env }),
        );
        let other: TestApp | undefined;
        try {
          await Promise.all(absent.map((worker) => worker.printed(/The service is ready/)));
          const runs = await Promise.all(
            absent.map(async (_, run) => {
              const thread = await ThreadClient.create(api, agent);
              const call = (tool: string, at: string): string => `/call ${tool} ${JSON.stringify({ run, at })}`;
              const text = ['So far', call('book', 'first'), call('hold', 'then'), call('book', 'last'), '/words 40'];
              return { thread, taskId: await thread.postMessage(text.join('\n')) };
            }),
          );
          await eventually(() => expect(callsOf(upstream, 'hold')).toHaveLength(absent.length));
          other = await backend.start({ ...ABSENT_ENV, RUN_CONCURRENCY: '10' });
          absent[0]?.signal('SIGSTOP');
          for (const proxy of silent.proxies) proxy.freeze();
          for (const proxy of cut.proxies) await proxy.cut();

          const ended = await Promise.all(
            runs.map(async ({ thread, taskId }) => {
              const run = await thread.waitFor(taskId, 'completed');
              return { run, answer: await thread.answer(taskId), stream: await thread.collect(taskId) };
            }),
          );
          expect(ended.map(({ run }) => run.attempt)).toEqual(runs.map(() => 2));
          // The absent workers go on with the results of their calls.
          gate.resolve();
          absent[0]?.signal('SIGCONT');
          for (const proxy of silent.proxies) proxy.thaw();
          for (const proxy of cut.proxies) await proxy.restore();
          await Promise.all(absent.map((worker) => worker.printed(GIVEN_UP)));
          expect(absent[0]?.output).not.toContain('failed unexpectedly');

          for (const [i, { thread, taskId }] of runs.entries()) {
            const now = {
              run: await thread.run(taskId),
              answer: await thread.answer(taskId),
              stream: await thread.collect(taskId),
            };
            expect(now).toEqual(ended[i]);
            expect(now.run).toMatchObject({ steps: 4 });
            await thread.expectAnswer(taskId, now.stream);
          }
          const bookings = runs.flatMap((_, run) => [`${run} first`, `${run} last`]);
          expect(callsOf(upstream, 'book').toSorted()).toEqual(bookings.toSorted());
        } finally {
          await other?.close();
          await Promise.all(absent.map((worker) => worker.kill('SIGKILL')));
          await Promise.all([...silent.proxies, ...cut.proxies, upstream].map((server) => server.close()));
        }
      },
      ABSENT_MS,
    );

    it(
      'that loses its connection takes its lock again and keeps its runs',
      async () => {
        const worker = await backend.start({ ...ENV, ROLE: 'worker' });
        const [run] = await startRuns(1, 'So far\n/wait 4000');
        const before = await lockHolders();
        expect(before).toHaveLength(1);
        await api.app.get(DataSource).query('SELECT pg_terminate_backend($1)', before);
        await eventually(async () => {
          const now = await lockHolders();
          expect([now.length, now[0] === before[0]]).toEqual([1, false]);
        });
        expect(await run?.thread.waitFor(run.taskId, 'completed')).toMatchObject({ attempt: 1 });
        await worker.close();
        expect(await lockHolders()).toEqual([]);
      },
      START_MS,
    );
  });
}

/**
 * Its `hold` answers each run's first call when the gate opens, and later calls at once; only that call may be
 * repeated.
 */
function startGatedUpstream(gate: Promise<void>): Promise<McpUpstream> {
  const held = new Set<unknown>();
  return startMcpUpstream({
    book: { handler: () => 'booked' },
    hold: {
      annotations: { readOnlyHint: true },
      async handler({ run }) {
        if (held.has(run)) return 'held again';
        held.add(run);
        await gate;
        return 'held';
      },
    },
  });
}

/** The calls of a tool, as `<run> <at>`. */
function callsOf(upstream: McpUpstream, tool: string): string[] {
  const calls = upstream.calls.filter((call) => call.tool === tool);
  return calls.map(({ arguments: { run, at } }) => `${String(run)} ${String(at)}`);
}

/** Relays in front of the stores of the environment, and the environment that leads through them. */
async function startProxies(
  env: Record<string, string>,
): Promise<{ env: Record<string, string>; proxies: TcpProxy[] }> {
  const relays = Object.entries(env)
    .filter(([name]) => /^(?:DATABASE|REDIS)_URL$/.test(name))
    .map(async ([name, url]) => ({ name, url, proxy: await startTcpProxy(url) }));
  const started = await Promise.all(relays);
  return {
    env: Object.fromEntries(started.map(({ name, url, proxy }) => [name, through(proxy, url)])),
    proxies: started.map(({ proxy }) => proxy),
  };
}
