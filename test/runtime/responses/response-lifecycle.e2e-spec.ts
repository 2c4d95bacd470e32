import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { LONG, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { collect, finalOf, taskIdOf, textsIn, textsOf, useResponses } from './responses.support.js';

const LONG_ANSWER = `/words 2\n${LONG}`;

const own = useResponses();

const threadOf = (response: OpenAI.Responses.Response) =>
  new ThreadClient(own.app, own.agentId, response.conversation?.id ?? '');

describe('a response in the background', () => {
  it('is answered at once, and read when it is complete', async () => {
    const begun = await own.openai.responses.create({
      model: own.agentId,
      input: '/wait 300\nhello',
      background: true,
    });
    expect(begun).toMatchObject({ background: true, output: [] });
    expect(['queued', 'in_progress']).toContain(begun.status);
    await threadOf(begun).waitFor(taskIdOf(begun), 'completed');
    const done = await own.openai.responses.retrieve(begun.id);
    expect(done).toMatchObject({ id: begun.id, status: 'completed', background: true });
    expect(done.output_text).toContain('You said: hello');
  });

  it('is cancelled with what it has said so far, and stays so', async () => {
    const begun = await own.openai.responses.create({ model: own.agentId, input: LONG_ANSWER, background: true });
    await eventually(async () =>
      expect((await own.openai.responses.retrieve(begun.id)).output_text).toContain('word2'),
    );
    const cancelled = await own.openai.responses.cancel(begun.id);
    expect(cancelled).toMatchObject({ id: begun.id, status: 'cancelled' });
    expect([...textsIn(cancelled).values()].join()).toContain('word1 word2');
    expect(await own.openai.responses.cancel(begun.id)).toEqual(cancelled);
  });
});

describe('the events of a response', () => {
  it('are sent again after any of them, also when the response is complete', async () => {
    const events = await collect(
      await own.openai.responses.create({ model: own.agentId, input: '/words 4', stream: true }),
    );
    const { id } = finalOf(events);
    expect(await collect(await own.openai.responses.retrieve(id, { stream: true }))).toEqual(events);
    for (const after of [0, 3, 5, events.length - 2, events.length - 1]) {
      const rest = await own.openai.responses.retrieve(id, { stream: true, starting_after: after });
      expect(await collect(rest)).toEqual(events.slice(after + 1));
    }
  });

  it('are read from a response in progress by a reader that comes back, and end with its cancellation', async () => {
    const stream = await own.openai.responses.create({ model: own.agentId, input: LONG_ANSWER, stream: true });
    const seen: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta' && event.delta.includes('word2')) break;
    }
    const [created] = seen;
    if (created?.type !== 'response.created') throw new Error(`The first event is ${created?.type}.`);
    const { id } = created.response;
    const last = seen.at(-1)?.sequence_number ?? 0;
    const rest = collect(await own.openai.responses.retrieve(id, { stream: true, starting_after: last }));
    await own.openai.responses.cancel(id);
    const events = [...seen, ...(await rest)];
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)?.type).toBe('response.incomplete');
    expect(finalOf(events).status).toBe('cancelled');
    expect(textsOf(events)).toEqual(textsIn(finalOf(events)));
  });

  it('are sent after the first two, which have no frames, although an attempt has left no frames', async () => {
    const events = await collect(
      await own.openai.responses.create({ model: own.agentId, input: '/words 2', stream: true }),
    );
    const response = finalOf(events);
    await own.app.query('UPDATE runs SET attempt = attempt + 1 WHERE id = $1', [taskIdOf(response)]);
    const after = (number: number) =>
      own.openai.responses.retrieve(response.id, { stream: true, starting_after: number });
    for (const number of [0, 1]) expect(await collect(await after(number))).toEqual(events.slice(number + 1));
    // The reader can have this one from an attempt whose frames are lost.
    await expect(after(2)).rejects.toMatchObject({ status: 410, code: 'stream_expired' });
  });

  it('end with the failure of the run', async () => {
    const input = '/words 3\n/fail out of coal';
    const events = await collect(await own.openai.responses.create({ model: own.agentId, input, stream: true }));
    expect(events.at(-1)?.type).toBe('response.failed');
    expect(finalOf(events)).toMatchObject({ status: 'failed', error: { code: expect.any(String) } });
    expect(finalOf(events).error?.message).toContain('out of coal');
    expect(textsOf(events)).toEqual(textsIn(finalOf(events)));
    const response = await own.openai.responses.create({ model: own.agentId, input });
    expect(response).toMatchObject({ status: 'failed', error: finalOf(events).error });
  });

  it('are refused after one that the response does not have', async () => {
    const { id } = await own.openai.responses.create({ model: own.agentId, input: '/words 2' });
    const refused = own.openai.responses.retrieve(id, { stream: true, starting_after: 1000 });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: 'invalid_stream_position',
      param: 'starting_after',
    });
  });
});

describe('the input items of a response', () => {
  it('are the messages of its request without its instructions, in either order, by page', async () => {
    const { id } = await own.openai.responses.create({
      model: own.agentId,
      instructions: 'Be brief.',
      input: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hello' },
      ],
    });
    const asked = (role: string, text: string) => ({
      type: 'message',
      id: expect.any(String),
      role,
      status: 'completed',
      content: [{ type: 'input_text', text }],
    });
    const expected = [asked('system', 'Be kind.'), asked('user', 'hello')];
    const all = await own.openai.responses.inputItems.list(id, { order: 'asc' });
    expect(all.data).toEqual(expected);
    const paged = [];
    for await (const item of own.openai.responses.inputItems.list(id, { limit: 1 })) paged.push(item);
    expect(paged).toEqual(expected.toReversed());
  });
});

describe('a deleted response', () => {
  it('is no response any more, and its thread goes on without it', async () => {
    const first = await own.openai.responses.create({ model: own.agentId, input: 'hello' });
    const second = await own.openai.responses.create({ previous_response_id: first.id, input: 'again' });
    await expect(own.openai.responses.delete(first.id)).rejects.toMatchObject({ status: 409, code: 'conflict' });
    await own.openai.responses.delete(second.id);
    await expect(own.openai.responses.retrieve(second.id)).rejects.toMatchObject({
      status: 404,
      code: 'run_not_found',
    });
    const streamed = own.openai.responses.retrieve(second.id, { stream: true });
    await expect(streamed).rejects.toMatchObject({ status: 404, code: 'run_not_found' });
    await expect(own.openai.responses.delete(second.id)).rejects.toMatchObject({ status: 404 });
    const continued = own.openai.responses.create({ previous_response_id: second.id, input: 'more' });
    await expect(continued).rejects.toMatchObject({ status: 404, param: 'previous_response_id' });
    const third = await own.openai.responses.create({ previous_response_id: first.id, input: 'instead' });
    expect(third.conversation).toEqual(first.conversation);
    const texts = (await threadOf(third).messages()).map(({ parts }) => JSON.stringify(parts));
    expect(texts).toHaveLength(4);
    expect(texts.join()).not.toContain('again');
  });

  it('has to be over first', async () => {
    const begun = await own.openai.responses.create({ model: own.agentId, input: LONG_ANSWER, background: true });
    await expect(own.openai.responses.delete(begun.id)).rejects.toMatchObject({ status: 409, code: 'thread_busy' });
    await own.openai.responses.cancel(begun.id);
    await own.openai.responses.delete(begun.id);
  });

  it('is not one whose question was answered again', async () => {
    const begun = await own.openai.responses.create({ model: own.agentId, input: LONG_ANSWER, background: true });
    await own.openai.responses.cancel(begun.id);
    const path = `${own.app.url}/api/${own.app.org}/agent-runtime/threads/${begun.conversation?.id ?? ''}/regenerate`;
    const headers = { authorization: `Bearer ${own.app.apiKey}`, 'content-type': 'application/json' };
    const again = await fetch(path, { method: 'POST', headers, body: '{}' });
    const { taskId } = (await again.json()) as { taskId: string };
    const refused = { status: 409, code: 'conflict' };
    await expect(own.openai.responses.delete(begun.id)).rejects.toMatchObject(refused);
    await own.openai.responses.cancel(`resp_${taskId}`);
    await expect(own.openai.responses.delete(begun.id)).rejects.toMatchObject(refused);
    await own.openai.responses.delete(`resp_${taskId}`);
    expect(await threadOf(begun).messages()).toEqual([]);
  });
});
