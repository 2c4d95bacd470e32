import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { Client } from 'pg';
import { type HostileTarget, startHostileTarget } from './harness.js';

const MESSAGES = 600;
const MEGABYTE = 1_000_000;
const READERS = 8;
const SLOW_READERS = 60;
const UPLOADS = 20;
/** Pieces of 1 MiB in each upload: together the default of `FILES_MAX_MB`. */
const UPLOADED_PIECES = 20;
const MESSAGES_LIST = 'COLLECTION_THREAD_MESSAGES_LIST';

/** What is uploaded at once goes through the service, and is not in it as a whole. */
describe('uploads that are large', () => {
  let target: HostileTarget;
  beforeAll(async () => {
    target = await startHostileTarget();
  }, 120_000);
  afterAll(() => target?.close());

  it('take less memory than they have bytes', async () => {
    const resident = async (what: 'VmRSS' | 'VmHWM'): Promise<number> =>
      Number(new RegExp(`${what}:\\s+(\\d+)`).exec(await readFile(`/proc/${target.service.pid}/status`, 'utf8'))?.[1]) /
      1024;
    // Code that was never run grows the process too.
    expect(await upload(0)).toBe(201);
    const before = await resident('VmRSS');
    // Begins a new peak.
    await writeFile(`/proc/${target.service.pid}/clear_refs`, '5');
    const statuses = await Promise.all(Array.from({ length: UPLOADS }, (_, n) => upload(n + 1)));
    expect(statuses).toEqual(statuses.map(() => 201));
    expect((await resident('VmHWM')) - before).toBeLessThan((UPLOADS * UPLOADED_PIECES) / 2);
  });

  /** Uploads a file of its own; returns the status. */
  async function upload(n: number): Promise<number> {
    let left = UPLOADED_PIECES;
    const body = new ReadableStream({
      pull: (controller) => (left-- > 0 ? controller.enqueue(Buffer.alloc(2 ** 20, n)) : controller.close()),
    });
    const headers = { authorization: `Bearer ${target.apiKey}`, 'content-type': 'application/octet-stream' };
    const answer = await fetch(`${target.url}/api/default/files`, { method: 'POST', headers, body, duplex: 'half' });
    await answer.body?.cancel();
    return answer.status;
  }
});

/** What one key reads at once of what it has stored. The heap is small, so that too much of it ends the process. */
describe('answers that are large', () => {
  let target: HostileTarget;
  let threadId: string;

  beforeAll(async () => {
    target = await startHostileTarget({ env: { NODE_OPTIONS: '--max-old-space-size=512' } });
    const agent = await target.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200);
    const data = { title: 'Thread', virtual_mcp_id: agent.body.item.id };
    threadId = (await target.tool('COLLECTION_THREADS_CREATE', { data }).expect(200)).body.item.id;
    // As if posted behind a `/wait` and cancelled: a request of 1 MB for each message would only take longer.
    await query(
      `INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts)
       SELECT organization_id, id, 'message-' || n, $2, n, 0, 'user',
              json_build_array(json_build_object('type', 'text', 'text', repeat('x', $3)))
         FROM threads, generate_series(1, $4) n WHERE id = $1`,
      [threadId, randomUUID(), MEGABYTE, MESSAGES],
    );
  }, 120_000);

  afterAll(() => target?.close());

  it('are read in parallel', async () => {
    await target.withstands(async () => {
      const input = { thread_id: threadId, limit: 1000 };
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.all(Array.from({ length: READERS }, () => target.tool(MESSAGES_LIST, input)));
        const statuses = answers.map(({ status }) => status);
        expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
        expect(statuses).toContain(200);
      }
    });
  });

  it('are not read by those who asked for them', async () => {
    const readers: Socket[] = [];
    await target.withstands(async () => {
      for (let n = 0; n < SLOW_READERS; n++) readers.push(await askAndTakeNothing(threadId));
      const refused = await target.tool(MESSAGES_LIST, { thread_id: threadId });
      expect([200, 503]).toContain(refused.status);
      for (const reader of readers) reader.destroy();
    });
  });

  it('are lists of keys with large permission maps', async () => {
    const large = { self: Array.from({ length: 1000 }, (_, n) => `${n}${'x'.repeat(250)}`) };
    expect((await target.tool('API_KEY_CREATE', { name: 'larger', permissions: large })).status).toBe(400);
    // Such keys may be there from before maps were bounded.
    await query(
      `INSERT INTO api_keys (id, organization_id, user_id, name, key_prefix, key_hash, permissions)
       SELECT gen_random_uuid(), k.organization_id, k.user_id, 'large', 'sbx_00000000',
              encode(sha256(gen_random_uuid()::text::bytea), 'hex'), $1
         FROM api_keys k JOIN organizations o ON o.id = k.organization_id AND o.slug = 'default', generate_series(1, 500)`,
      [JSON.stringify(large)],
    );
    await target.withstands(async () => {
      const answers = await Promise.all(Array.from({ length: READERS }, () => target.tool('API_KEY_LIST')));
      expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    });
  });

  async function query(sql: string, values: readonly unknown[]): Promise<void> {
    const database = new Client({ connectionString: target.databaseUrl });
    await database.connect();
    await database.query(sql, [...values]);
    await database.end();
  }

  /** Sends a request whose answer stays in the service, as far as the kernel's buffers do not take it. */
  async function askAndTakeNothing(thread: string): Promise<Socket> {
    const { hostname, port } = new URL(target.url);
    const reader = connect(Number(port), hostname);
    reader.on('error', () => reader.destroy());
    await once(reader, 'connect');
    const body = JSON.stringify({ thread_id: thread, limit: 1000 });
    reader.pause();
    reader.write(
      `POST /api/default/tools/${MESSAGES_LIST} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${target.apiKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    return reader;
  }
});
