import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { ThreadClient, unusedId } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { collect, finalOf, taskIdOf, useResponses } from './responses.support.js';

// A short day of retention: threads that nobody has deleted go after five seconds.
const own = useResponses({ RETENTION_DAY_MS: '5000' });

/** What is stored of a response. */
async function storedOf(response: OpenAI.Responses.Response): Promise<object[]> {
  return own.app.query(
    `SELECT id FROM threads WHERE id = $1 UNION ALL SELECT id FROM messages WHERE thread_id = $1
      UNION ALL SELECT id::text FROM runs WHERE id = $2`,
    [response.conversation?.id, taskIdOf(response)],
  );
}

describe('a response that is not stored', () => {
  it('is gone once it is answered', async () => {
    const response = await own.openai.responses.create({ model: own.agentId, input: 'hello', store: false });
    expect(response).toMatchObject({ status: 'completed', store: false });
    expect(response.output_text).toContain('You said: hello');
    expect(await storedOf(response)).toEqual([]);
    const notFound = { status: 404, code: 'run_not_found' };
    await expect(own.openai.responses.retrieve(response.id)).rejects.toMatchObject(notFound);
    const next = own.openai.responses.create({ previous_response_id: response.id, input: 'more' });
    await expect(next).rejects.toMatchObject(notFound);
  });

  it('is gone once its events are sent', async () => {
    const stream = await own.openai.responses.create({
      model: own.agentId,
      input: '/words 3',
      store: false,
      stream: true,
    });
    const final = finalOf(await collect(stream));
    expect(final).toMatchObject({ status: 'completed', store: false });
    expect(JSON.stringify(final.output)).toContain('word3');
    expect(await storedOf(final)).toEqual([]);
    await expect(own.openai.responses.retrieve(final.id)).rejects.toMatchObject({ status: 404 });
  });

  it('goes after its run if its reader has left', async () => {
    const input = '/words 2\n/wait 600000';
    const stream = await own.openai.responses.create({ model: own.agentId, input, store: false, stream: true });
    let response: OpenAI.Responses.Response | undefined;
    for await (const event of stream) {
      if (event.type === 'response.created') response = event.response;
      if (event.type === 'response.output_text.delta') break;
    }
    const left = response as OpenAI.Responses.Response;
    expect(await storedOf(left)).not.toEqual([]);
    const thread = new ThreadClient(own.app, own.agentId, left.conversation?.id ?? '');
    expect(await own.openai.responses.cancel(left.id)).toMatchObject({ status: 'cancelled', store: false });
    await eventually(async () => expect(await storedOf(left)).toEqual([]));
    await expect(thread.messages()).rejects.toThrow();
  });

  it('is of a new thread, and not in the background', async () => {
    const first = await own.openai.responses.create({ model: own.agentId, input: 'hello' });
    expect(first).toMatchObject({ store: true });
    const refused = async (body: object, param: string, headers = {}) =>
      expect(
        own.openai.responses.create({ model: own.agentId, input: 'x', store: false, ...body }, { headers }),
      ).rejects.toMatchObject({ status: 400, code: 'invalid_request', param });
    await refused({ background: true }, 'background');
    await refused({ previous_response_id: first.id }, 'store');
    await refused({ conversation: first.conversation?.id }, 'store');
    await refused({}, 'Idempotency-Key', { 'idempotency-key': unusedId() });
  });
});
