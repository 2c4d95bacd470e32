import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { createAgent, succeed, ThreadClient, unusedId } from '../../support/agent-runs.js';
import { collect, finalOf, openAiClient, taskIdOf, textsIn, textsOf, useResponses } from './responses.support.js';

const own = useResponses();

describe("a response to OpenAI's client", () => {
  it('is the answer of a run on a new thread', async () => {
    const {
      app: { url, org, apiKey },
      agentId,
    } = own;
    const openai = new OpenAI({ baseURL: `${url}/api/${org}/v1`, apiKey });
    const response = await openai.responses.create({ model: agentId, input: 'hello' });
    expect(response).toMatchObject({ object: 'response', status: 'completed', model: agentId, error: null });
    expect(response.output_text).toContain('You said: hello');
    const thread = new ThreadClient(own.app, own.agentId, response.conversation?.id ?? '');
    expect(JSON.stringify((await thread.answer(taskIdOf(response)))?.parts)).toContain('You said: hello');
    expect(await openai.responses.retrieve(response.id)).toEqual(response);
  });

  it('goes on with a conversation, with instructions, a temperature and metadata', async () => {
    const first = await own.openai.responses.create({
      model: own.agentId,
      input: 'hello',
      metadata: { topic: 'tests' },
    });
    const second = await own.openai.responses.create({
      conversation: first.conversation?.id ?? '',
      input: [
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'input_text', text: 'again' }] },
      ],
      instructions: 'Be brief.',
      temperature: 0.5,
    });
    expect(second).toMatchObject({
      conversation: first.conversation,
      metadata: { topic: 'tests' },
      instructions: 'Be brief.',
      temperature: 0.5,
    });
    expect(second.output_text).toContain('You said: again');
  });

  it('is streamed as events in their order, whose deltas make the final response', async () => {
    const stream = await own.openai.responses.create({ model: own.agentId, input: '/words 5', stream: true });
    const events = await collect(stream);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    const types = events.map(({ type }) => type).filter((type) => type !== 'response.output_text.delta');
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const final = finalOf(events);
    expect(final.output).toMatchObject([{ type: 'message', status: 'completed' }]);
    expect(textsOf(events)).toEqual(textsIn(final));
    const { output_text: text, ...stored } = await own.openai.responses.retrieve(final.id);
    expect(stored).toEqual(final);
    expect([...textsIn(final).values()]).toEqual([text]);
  });

  it('is one response for requests with the same key', async () => {
    const ask = (input: string, extra: object = {}) =>
      own.openai.responses.create({ model: own.agentId, input, ...extra }, { headers: { 'idempotency-key': key } });
    const key = unusedId();
    const all = await Promise.all([ask('hello'), ask('hello'), ask('hello')]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    await expect(ask('other')).rejects.toMatchObject({ status: 409, code: 'idempotency_conflict' });
    const conversation = all[0].conversation?.id ?? '';
    const next = await own.openai.responses.create(
      { conversation, input: 'x' },
      { headers: { 'idempotency-key': `${key}2` } },
    );
    const again = await own.openai.responses.create(
      { conversation, input: 'x' },
      { headers: { 'idempotency-key': `${key}2` } },
    );
    expect(again.id).toBe(next.id);
    const refused = ask('x', { previous_response_id: next.id });
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'Idempotency-Key' });
  });

  it('changes the metadata of its thread, unless it is refused', async () => {
    const first = await own.openai.responses.create({ model: own.agentId, input: 'hello', metadata: { topic: 'one' } });
    const conversation = first.conversation?.id ?? '';
    const headers = { 'idempotency-key': unusedId() };
    const ask = (input: string, topic: string) =>
      own.openai.responses.create({ conversation, input, metadata: { topic } }, { headers });
    const second = await ask('x', 'two');
    expect(second.metadata).toEqual({ topic: 'two' });
    await expect(ask('y', 'three')).rejects.toMatchObject({ status: 409, code: 'idempotency_conflict' });
    const third = await own.openai.responses.create({ previous_response_id: second.id, input: 'z' });
    expect(third.metadata).toEqual({ topic: 'two' });
    expect((await own.openai.responses.retrieve(first.id)).metadata).toEqual({ topic: 'one' });
  });

  it('has the format of the agent', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const shaped = await createAgent(own.app, [], { output_schema: schema });
    const ask = (given: Record<string, unknown>) =>
      own.openai.responses.create({
        model: shaped,
        input: 'hello',
        background: true,
        text: { format: { type: 'json_schema', name: 'answer', schema: given } },
      });
    expect(await ask({ required: ['a'], properties: { a: { type: 'string' } }, type: 'object' })).toMatchObject({
      object: 'response',
    });
    await expect(ask({ type: 'object' })).rejects.toMatchObject({ status: 400, param: 'text.format.schema' });
  });

  it('is what its stream helper makes of the events', async () => {
    const final = await own.openai.responses.stream({ model: own.agentId, input: '/words 3' }).finalResponse();
    expect(final.output_text).toContain('word3');
  });
});

describe('the models', () => {
  const modelOf = (id: string, slug: string) =>
    ({ id, object: 'model', created: expect.any(Number), owned_by: own.app.org, slug }) as never;

  it('are the agents, each of which has its id and its slug', async () => {
    const id = await createAgent(own.app, [], { title: 'Orders', slug: 'orders' });
    const models = [];
    for await (const model of own.openai.models.list()) models.push(model);
    expect(models).toContainEqual(modelOf(own.agentId, 'agent'));
    expect(models.filter((model) => model.id === id)).toEqual([modelOf(id, 'orders')]);
    expect(await own.openai.models.retrieve(id)).toEqual(modelOf(id, 'orders'));
    expect(await own.openai.models.retrieve('orders')).toEqual(modelOf(id, 'orders'));
    const response = await own.openai.responses.create({ model: 'orders', input: 'hello' });
    expect(response).toMatchObject({ model: id, status: 'completed' });
    const conversation = response.conversation?.id ?? '';
    expect(await own.openai.responses.create({ model: 'orders', conversation, input: 'more' })).toMatchObject({
      model: id,
    });
    const another = own.openai.responses.create({ model: 'agent', conversation, input: 'more' });
    await expect(another).rejects.toMatchObject({ status: 400, code: 'agent_mismatch' });
  });

  it('are not found if they are inactive, unknown, or not for the caller', async () => {
    const idle = await createAgent(own.app, [], { title: 'Idle', status: 'inactive' });
    const notFound = { status: 404, code: 'agent_not_found', param: 'model' };
    for (const name of [idle, 'idle', 'nobody', unusedId(), '\u0000']) {
      await expect(own.openai.models.retrieve(name)).rejects.toMatchObject(notFound);
    }
    const keyFor = async (permissions: object) => {
      const { key } = await succeed<{ key: string }>(own.app, 'API_KEY_CREATE', { name: 'models', permissions });
      return openAiClient({ ...own.app, apiKey: key });
    };
    // Known to the process for a while: this test is the last one.
    await succeed(own.app, 'ORGANIZATION_UPDATE', { run_access: 'granted' });
    const lister = await keyFor({ self: ['COLLECTION_VIRTUAL_MCP_LIST'], [idle]: ['*'] });
    await expect(lister.models.retrieve('agent')).rejects.toMatchObject(notFound);
    const runner = await keyFor({ '*': ['*'] });
    await expect(runner.models.retrieve('agent')).rejects.toMatchObject({ status: 403, code: 'permission_denied' });
  });
});
