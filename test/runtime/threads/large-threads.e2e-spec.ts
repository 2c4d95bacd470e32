import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { ANSWER_ORDINAL } from '../../../src/runtime/threads/message.entity.js';
import type { MessagePage } from '../../../src/runtime/threads/thread.dto.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestService, type TestService } from '../../support/service.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { eventually } from '../../support/eventually.js';

const RUNS = 1_500;
/** A question and an answer for each run. */
const MESSAGES = 2 * RUNS;
/** Above PostgreSQL's limit of 2 kB for values in the row itself, in random text, which does not compress. */
const PART_BYTES = 6_400;
/** Some answers are so large that they end their page early. */
const LARGE_EVERY = 75;
const LARGE_BYTES = 640_000;

const IDS = Array.from({ length: RUNS }, (_, n) => [`q${n + 1}`, `a${n + 1}`]).flat();

let database: TestDatabase;
let service: TestService;

beforeEach(async () => {
  database = await createTestDatabase();
  service = await startTestService({ database });
});
afterEach(async () => {
  await service?.close();
  await database?.drop();
});

/** Runs statements on a connection of their own: PostgreSQL counts what a connection did once it is closed. */
async function onDatabase<T extends object>(statement: string, values: unknown[] = []): Promise<T[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<T>(statement, values)).rows;
  } finally {
    await client.end();
  }
}

/** A thread with the messages `q<run>` and `a<run>`. */
async function storeThread(): Promise<ThreadClient> {
  const thread = await ThreadClient.create(service, await createAgent(service));
  await onDatabase(
    `INSERT INTO messages (organization_id, thread_id, id, run_id, run_position, ordinal, role, parts)
     SELECT thread.organization_id, thread.id, kind.letter || run, gen_random_uuid(), run, kind.ordinal, kind.role,
            json_build_array(json_build_object('type', 'text', 'text', (
              SELECT string_agg(md5(kind.letter || run || ' ' || chunk), '')
                FROM generate_series(1, CASE WHEN kind.letter = 'a' AND run % $4::int = 0 THEN $5::int ELSE $3::int END / 32) chunk
            )))
       FROM threads thread, generate_series(1, $2::int) run,
            (VALUES ('q', 'user', 0), ('a', 'assistant', ${ANSWER_ORDINAL})) kind (letter, role, ordinal)
      WHERE thread.id = $1`,
    [thread.id, RUNS, PART_BYTES, LARGE_EVERY, LARGE_BYTES],
  );
  await onDatabase('ANALYZE messages');
  return thread;
}

async function walk(input: object): Promise<MessagePage[]> {
  const pages: MessagePage[] = [];
  for (let cursor: string | null = null; ;) {
    const page: MessagePage = await succeed(service, 'COLLECTION_THREAD_MESSAGES_LIST', { ...input, cursor });
    pages.push(page);
    cursor = page.nextCursor;
    if (cursor === null) return pages;
  }
}

/** Counters of PostgreSQL since its start. */
interface Reads {
  /** Rows of messages. */
  rows: number;
  /** Values that are stored outside of their row. */
  parts: number;
}

async function readsOfMessages(): Promise<Reads> {
  const [reads] = await onDatabase<Reads>(
    `SELECT (seq_tup_read + idx_tup_fetch)::int AS rows,
            (SELECT idx_scan::int FROM pg_stat_all_tables WHERE relid = reltoastrelid) AS parts
       FROM pg_stat_all_tables JOIN pg_class ON pg_class.oid = relid WHERE relid = 'messages'::regclass`,
  );
  if (reads === undefined) throw new Error('There is no table messages.');
  return reads;
}

/** Waits until the statistics of all connections of the service have arrived: they are closed then. */
async function stopService(): Promise<void> {
  await service.close();
  const others = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  await eventually(async () => expect(await onDatabase(others)).toEqual([]));
}

describe('a large thread', () => {
  it.each(['asc', 'desc'])('is listed (%s) in pages that read only their own messages', async (order) => {
    const { id } = await storeThread();
    const before = await readsOfMessages();
    const pages = await walk({ thread_id: id, order, limit: 50 });
    const ids = pages.flatMap(({ items }) => items.map((item) => item.id));
    expect(ids).toEqual(order === 'asc' ? IDS : IDS.toReversed());
    await stopService();
    const after = await readsOfMessages();
    expect(after.parts - before.parts).toBe(MESSAGES);
    // The first page counts the rows; each row is measured and read, and one more per page tells that there is a next
    // page.
    expect(after.rows - before.rows).toBeLessThanOrEqual(3 * MESSAGES + pages.length);
  });
});
