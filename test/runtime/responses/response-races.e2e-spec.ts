import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { DataSource, type QueryRunner } from 'typeorm';
import { newId } from '../../../src/core/ids.js';
import { RunPosting } from '../../../src/runtime/runs/records/run-posting.js';
import { createAgent, succeed, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';
import { expectPublishedShapes } from './checked-fetch.js';
import { openAiClient } from './responses.support.js';

const METADATA_LOCK = 7;

const own = useStarted(() => startTestApp());
expectPublishedShapes();
let agentId: string;
let openai: OpenAI;
/** Has a transaction whose locks hold the service up. */
let holder: QueryRunner;
beforeAll(async () => {
  agentId = await createAgent(own);
  openai = openAiClient(own);
});
beforeEach(async () => {
  holder = own.app.get(DataSource).createQueryRunner();
  await holder.startTransaction();
});
afterEach(async () => {
  if (holder.isTransactionActive) await holder.rollbackTransaction();
  await holder.release();
});

const begin = () => openai.responses.create({ model: agentId, input: 'one' });
const conversationOf = ({ conversation }: OpenAI.Responses.Response) => conversation?.id ?? '';

/** Waits until a statement of the service waits for a lock of the holder. */
async function untilHeldUp(): Promise<void> {
  const [{ pid }] = (await holder.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
  const isHeldUp = 'SELECT FROM pg_stat_activity WHERE pg_blocking_pids(pid) @> ARRAY[$1::int]';
  await eventually(async () => (await own.query(isHeldUp, [pid])).length > 0);
}

/** Posts a message to the thread of a response, as another caller, in the transaction of the holder. */
async function postBeside(response: OpenAI.Responses.Response, text: string): Promise<void> {
  const [caller] = await own.query<{ organizationId: string; apiKeyId: string }>(
    'SELECT organization_id AS "organizationId", api_key_id AS "apiKeyId" FROM runs WHERE thread_id = $1',
    [conversationOf(response)],
  );
  const run = {
    ...(caller as { organizationId: string; apiKeyId: string }),
    threadId: conversationOf(response),
    agentId,
    userId: null,
    grantId: null,
    requestId: 'beside',
    tier: null,
    temperature: null,
    messages: [{ id: newId(), role: 'user' as const, parts: [{ type: 'text' as const, text }] }],
    idempotency: undefined,
  };
  await own.app.get(RunPosting).postRun(run, { manager: holder.manager });
}

async function questionsOf(response: OpenAI.Responses.Response): Promise<unknown[]> {
  const messages = await new ThreadClient(own, agentId, conversationOf(response)).messages();
  return messages.flatMap(({ role, parts }) => (role === 'user' ? [(parts[0] as { text?: string }).text] : []));
}

describe('a response that continues another one', () => {
  it('is on a copy of the thread if somebody else posts between its check and its post', async () => {
    const first = await begin();
    await holder.query('SELECT FROM threads WHERE id = $1 FOR UPDATE', [conversationOf(first)]);
    const continued = openai.responses.create({ previous_response_id: first.id, input: 'mine', background: true });
    await untilHeldUp();
    await postBeside(first, 'beside');
    await holder.commitTransaction();
    const second = await continued;
    expect(second.previous_response_id).toBe(first.id);
    expect(await questionsOf(second)).toEqual(['one', 'mine']);
    expect(await questionsOf(first)).toEqual(['one', 'beside']);
  });
});

describe('the metadata of a response', () => {
  it('is stored together with its run', async () => {
    await own.query(`
      CREATE FUNCTION hold_metadata() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock(${METADATA_LOCK}); RETURN NEW; END';
      CREATE TRIGGER hold_metadata BEFORE UPDATE ON threads FOR EACH ROW
        WHEN (old.metadata <> new.metadata) EXECUTE FUNCTION hold_metadata()`);
    const first = await begin();
    await holder.query('SELECT pg_advisory_xact_lock($1)', [METADATA_LOCK]);
    const metadata = { topic: 'tests' };
    const continued = openai.responses.create({ previous_response_id: first.id, input: 'two', metadata });
    await untilHeldUp();
    expect(await own.query('SELECT id FROM runs WHERE thread_id = $1', [conversationOf(first)])).toHaveLength(1);
    await holder.commitTransaction();
    expect((await continued).metadata).toEqual(metadata);
    const thread = await succeed(own, 'COLLECTION_THREADS_GET', { id: conversationOf(first) });
    expect(thread).toMatchObject({ item: { metadata } });
  });
});
