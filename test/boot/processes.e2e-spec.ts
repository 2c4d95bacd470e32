import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TemporaryDataFolder } from '../../src/boot/testing/temporary-data-folder.js';
import { connect, createAgent, ThreadClient } from '../support/agent-runs.js';
import { eventually } from '../support/eventually.js';
import { isAlive } from '../support/is-alive.js';
import { parseSamples, type Sample, valueOf } from '../support/prometheus.js';
import { callProxy, pathOf, rpcOf, toolCall } from '../support/proxy-calls.js';
import { LegacySession } from '../support/legacy-session.js';
import { ServiceProcess } from '../support/service-process.js';
import { callTool, type Tenant } from '../support/tenant.js';
import { startMcpUpstream } from '../../src/boot/testing/mcp-upstream.js';

const START_MS = 60_000;
const TEST_MS = 60_000;
const MINI_SERVER = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));
const ENV = { PROCESSES: '2', RUN_LOCK_MS: '2000' };
const REQUESTS = 'http_server_request_duration_seconds_count';

describe('PROCESSES=2', () => {
  const data = new TemporaryDataFolder();
  let service: ServiceProcess;
  let app: Tenant;

  beforeAll(async () => {
    service = new ServiceProcess({ ...ENV, DATA_DIR: data.path });
    const { url, apiKey = '' } = await service.listening();
    app = {
      url,
      org: 'default',
      apiKey,
      tool: (name, body = {}, key = apiKey) => callTool({ url, org: 'default', apiKey: key }, name, body),
      query: () => Promise.reject(new Error('This suite reads no tables.')),
      close: async () => void (await service.kill('SIGTERM')),
    };
  }, START_MS);

  afterAll(async () => {
    await service.kill('SIGTERM');
    await data.remove();
  }, START_MS);

  /** The lines of the log that have this text. */
  function logged(text: string): { process: number; [field: string]: unknown }[] {
    const lines = service.output.split('\n').filter((line) => line.startsWith('{') && line.includes(text));
    return lines.map((line) => JSON.parse(line));
  }

  /** The numbers of the processes that have answered requests. */
  const answering = (): number[] => [...new Set(logged('"route"').map((line) => line.process))].toSorted();
  const pids = (): number[] => logged('ready in all processes').flatMap((line) => line['processes'] as number[]);

  async function metrics(): Promise<Sample[]> {
    const [, url = ''] = await service.printed(/Serving metrics at ([^"]+)/);
    return parseSamples(await (await fetch(url)).text());
  }

  it(
    'answers in both processes, with one key and one page of metrics',
    async () => {
      await eventually(async () => {
        await app.tool('COLLECTION_THREADS_LIST').expect(200);
        expect(answering()).toEqual([1, 2]);
      });
      const route = { http_route: '/api/:org/tools/:name' };
      const before = valueOf(await metrics(), REQUESTS, route) ?? 0;
      for (let n = 0; n < 10; n++) await app.tool('COLLECTION_THREADS_LIST').expect(200);
      expect(valueOf(await metrics(), REQUESTS, route)).toBe(before + 10);
    },
    TEST_MS,
  );

  it(
    'keeps a session with a program in one process, over new connections',
    async () => {
      const stdio = { command: 'node', args: [MINI_SERVER] };
      const data = { title: 'Program', connection_type: 'STDIO', stdio };
      const created = await app.tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
      const path = pathOf(app, created.body.item.id);
      const session = await LegacySession.open(app, path);
      const programs = new Set<string | undefined>();
      // Connections are handed out in turn, so half of these are the other process's.
      for (let n = 0; n < 10; n++) {
        programs.add(rpcOf(await session.call('pid', {})).result?.content?.[0]?.text);
      }
      expect([...programs]).toEqual([expect.stringMatching(/^\d+$/)]);
      const owners = await eventually(() => {
        const lines = logged(path);
        expect(lines).toHaveLength(11);
        return lines.map((line) => line.process);
      });
      expect(new Set(owners).size).toBe(1);
      expect((await session.end()).status).toBe(200);
      await eventually(() => !isAlive(Number([...programs][0])));
    },
    TEST_MS,
  );

  it(
    'replaces processes that are killed; a run and the totals survive both',
    async () => {
      const gate = Promise.withResolvers<void>();
      const upstream = await startMcpUpstream({
        hold: { annotations: { readOnlyHint: true }, handler: () => gate.promise.then(() => 'held') },
      });
      try {
        const connection = await connect(app, upstream.url);
        const thread = await ThreadClient.create(app, await createAgent(app, [connection]));
        const taskId = await thread.postMessage('So far\n/call hold {}\n/words 40');
        await eventually(() => expect(upstream.calls).toHaveLength(1));
        const before = valueOf(await metrics(), REQUESTS) ?? 0;
        // Whichever process has the run, it is killed.
        for (const [index, pid] of pids().entries()) {
          process.kill(pid, 'SIGKILL');
          await eventually(() => {
            const ready = logged('"The service is ready"').filter((line) => line.process === index + 1);
            expect(ready).toHaveLength(2);
          });
        }
        await eventually(async () => expect((await thread.run(taskId)).attempt).toBeGreaterThan(1));
        gate.resolve();
        await thread.waitFor(taskId, 'completed');
        await thread.expectAnswer(taskId, await thread.collect(taskId));
        expect(valueOf(await metrics(), REQUESTS)).toBeGreaterThan(before);
        expect(
          rpcOf(await callProxy(app, pathOf(app, connection), { key: app.apiKey, body: toolCall('hold') })),
        ).toEqual(
          expect.objectContaining({ result: expect.objectContaining({ content: [{ type: 'text', text: 'held' }] }) }),
        );
      } finally {
        await upstream.close();
      }
    },
    TEST_MS,
  );

  it(
    'ends in order at SIGTERM: all processes, then the embedded database',
    async () => {
      const running = logged('"The service is stopping"');
      expect(running).toEqual([]);
      // The pipes of its output close when the last process has ended.
      expect(await service.kill('SIGTERM')).toBe(0);
      expect(
        logged('"The service is stopping"')
          .map((line) => line.process)
          .toSorted(),
      ).toEqual([1, 2]);
      expect(pids().filter(isAlive)).toEqual([]);
      expect(existsSync(join(data.path, 'postgres', 'postmaster.pid'))).toBe(false);
    },
    TEST_MS,
  );

  it(
    'gives up with one sentence when a process cannot start',
    async () => {
      const occupant = createServer().listen(0, '127.0.0.1');
      try {
        await once(occupant, 'listening');
        const { port } = occupant.address() as AddressInfo;
        const refused = new ServiceProcess({ ...ENV, DATA_DIR: data.path, PORT: String(port), LOG_LEVEL: 'silent' });
        expect(await refused.exit()).toBe(1);
        expect(refused.output).toBe(`The port ${port} is in use. Set PORT to another one.\n`);
      } finally {
        occupant.close();
      }
    },
    TEST_MS,
  );
});
