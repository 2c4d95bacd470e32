import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createAgent, ThreadClient } from '../support/agent-runs.js';
import type { TestApp } from '../support/app.js';
import { eventually } from '../support/run-event-probes.js';
import type { StreamBackend } from '../support/stream-backends.js';
import { startWorkerProcess } from '../support/worker-process.js';

/** So long that only the connections of workers can tell that one has died. */
const ENV = { RUN_LOCK_MS: '600000' };
const START_MS = 60_000;
const PATIENCE_MS = 30_000;
const LOCKS = `SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE locktype = 'advisory' AND application_name = 'signalbox-worker' AND datname = current_database()`;

/** What happens to the runs of a worker that dies, and of one whose connection to the database is lost. */
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
        await thread.waitFor(taskId, 'running');
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
        await doomed.end('SIGKILL');
        const next = await backend.start({ ...ENV, ROLE: 'worker' });
        await eventually(async () => {
          for (const { thread, taskId } of runs) expect(await thread.run(taskId)).toMatchObject({ attempt: 2 });
        }, PATIENCE_MS);
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
        }, PATIENCE_MS);
        expect(await run?.thread.waitFor(run.taskId, 'completed')).toMatchObject({ attempt: 1 });
        await worker.close();
        expect(await lockHolders()).toEqual([]);
      },
      START_MS,
    );
  });
}
