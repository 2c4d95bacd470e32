import { describe, expect, it } from '@jest/globals';
import { createAgent, succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { NOBODY } from '../../support/model-tools.js';
import { newTenant } from '../../support/tenant.js';
import { openAiClient, useResponses } from './responses.support.js';

const INPUT_TEXT = { type: 'input_text', text: 'x' };

const own = useResponses();

/** Sends any body. */
async function send(body: unknown, { path = 'responses', method = 'POST', key = own.app.apiKey } = {}) {
  const response = await fetch(`${own.app.url}/api/${own.app.org}/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as { error: Record<string, unknown> } };
}

const countThreads = async (): Promise<number> =>
  (await succeed<{ totalCount: number }>(own.app, 'COLLECTION_THREADS_LIST', { limit: 1 })).totalCount;

describe('a response request', () => {
  it.each([
    ['no object', [], ''],
    ['a model of the wrong type', { model: 5, input: 'x' }, 'model'],
    ['no model', { input: 'x' }, 'model'],
    ['no input', { model: '$agent' }, 'input'],
    ['input of the wrong type', { model: '$agent', input: 5 }, 'input'],
    ['empty input', { model: '$agent', input: [] }, 'input'],
    ['an item of the wrong type', { model: '$agent', input: ['x'] }, 'input[0]'],
    ['an unknown kind of item', { model: '$agent', input: [{ type: 'x', id: 'y' }] }, 'input[0].type'],
    ['an unknown role', { model: '$agent', input: [{ role: 'tool', content: 'x' }] }, 'input[0].role'],
    ['no content', { model: '$agent', input: [{ role: 'user' }] }, 'input[0].content'],
    [
      'an unknown part',
      { model: '$agent', input: [{ role: 'user', content: [{ type: 'x' }] }] },
      'input[0].content[0].type',
    ],
    [
      'a text of the wrong type',
      { model: '$agent', input: [{ role: 'user', content: [{ type: 'input_text', text: 5 }] }] },
      'input[0].content[0].text',
    ],
    [
      'an image without an address',
      { model: '$agent', input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].content[0].image_url',
    ],
    [
      'too many items',
      { model: '$agent', input: Array.from({ length: 1000 }, () => ({ role: 'user', content: 'x' })) },
      'input',
    ],
    [
      'too many parts',
      { model: '$agent', input: [{ role: 'user', content: Array.from({ length: 1001 }, () => INPUT_TEXT) }] },
      'input[0].content',
    ],
    [
      'a long name of a file',
      {
        model: '$agent',
        input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'x', filename: 'x'.repeat(1025) }] }],
      },
      'input[0].content[0].filename',
    ],
    ['NUL in a text', { model: '$agent', input: 'a\u0000b' }, 'input'],
    [
      'a malformed approval',
      { input: [{ type: 'mcp_approval_response', approval_request_id: 'x', approve: true }] },
      'input[0].approval_request_id',
    ],
    ['a temperature above 2', { model: '$agent', input: 'x', temperature: 3 }, 'temperature'],
    ['metadata of the wrong type', { model: '$agent', input: 'x', metadata: { a: 1 } }, 'metadata'],
    ['a stream flag of the wrong type', { model: '$agent', input: 'x', stream: 'yes' }, 'stream'],
    ['a conversation of the wrong type', { model: '$agent', input: 'x', conversation: 5 }, 'conversation'],
    ['store: false in the background', { model: '$agent', input: 'x', store: false, background: true }, 'background'],
    ['a JSON format', { model: '$agent', input: 'x', text: { format: { type: 'json_object' } } }, 'text.format.type'],
    [
      'a schema that the agent does not have',
      { model: '$agent', input: 'x', text: { format: { type: 'json_schema', name: 'x', schema: {} } } },
      'text.format',
    ],
  ])('with %s is 400, and nothing is stored', async (_, body, param) => {
    const before = await countThreads();
    const sent = JSON.stringify(body).replaceAll('$agent', own.agentId);
    const { status, body: answer } = await send(sent);
    expect({ status, answer }).toEqual({
      status: 400,
      answer: {
        error: {
          message: expect.any(String),
          type: 'invalid_request_error',
          code: 'invalid_request',
          param: param || '',
        },
      },
    });
    expect(await countThreads()).toBe(before);
  });

  it.each([
    ['tools', { tools: [{ type: 'function', name: 'f', parameters: {} }] }],
    ['a choice of tools', { tool_choice: 'required' }],
    ['calls of its tools', { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }],
  ])('with %s is refused', async (_, body) => {
    const { status, body: answer } = await send({ model: own.agentId, input: 'x', ...body });
    expect({ status, ...answer }).toMatchObject({ status: 400, error: { code: 'tools_unsupported' } });
  });

  it('takes members that mean nothing to it', async () => {
    const known = { top_p: 0.5, max_output_tokens: 50, reasoning: { effort: 'low' }, user: 'u', include: [] };
    const { status } = await send({
      model: own.agentId,
      input: 'x',
      tools: [],
      tool_choice: 'auto',
      ...known,
      unknown: true,
    });
    expect(status).toBe(200);
  });

  it.each([
    ['malformed JSON', '{', 400, 'malformed_json'],
    ['a body above the limit', JSON.stringify({ input: 'x'.repeat(1_100_000) }), 413, 'body_too_large'],
  ])('with %s is refused in the same form', async (_, body, status, code) => {
    const answer = await send(body);
    expect(answer).toMatchObject({ status, body: { error: { code, message: expect.any(String) } } });
  });

  it('takes a text that fills the body', async () => {
    const input = '/words 1\n' + '/words 0\n'.repeat(100) + 'x'.repeat(900_000);
    const { status, body } = await send({ model: own.agentId, input });
    expect({ status, error: body.error }).toEqual({ status: 200, error: null });
  });

  it('without a credential, or with another organization’s, is refused in the same form', async () => {
    expect(await send({}, { key: 'none' })).toMatchObject({
      status: 401,
      body: { error: { type: 'authentication_error' } },
    });
    const other = await newTenant();
    try {
      const theirs = await openAiClient(other).responses.create({ model: await createAgent(other), input: 'hello' });
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/input_items'],
        ['GET', '?stream=true'],
        ['POST', '/cancel'],
        ['DELETE', ''],
      ] as const) {
        const answer = await send('{}', { method, path: `responses/${theirs.id}${path}` });
        expect(answer).toMatchObject({
          status: 404,
          body: { error: { code: 'run_not_found', type: 'invalid_request_error' } },
        });
      }
      const continued = await send({ previous_response_id: theirs.id, input: 'x' });
      expect(continued).toMatchObject({
        status: 404,
        body: { error: { code: 'run_not_found', param: 'previous_response_id' } },
      });
      const inTheirs = await send({ conversation: theirs.conversation?.id, input: 'x' });
      expect(inTheirs).toMatchObject({ status: 404, body: { error: { code: 'thread_not_found' } } });
      const crossing = await send({ model: own.agentId, input: 'x' }, { key: other.apiKey });
      expect(crossing).toMatchObject({ status: 403, body: { error: { code: 'organization_mismatch' } } });
    } finally {
      await other.close();
    }
  });

  it.each(['resp_x', `resp_${NOBODY}`, 'x', `msg_${NOBODY}`])('about the response %s is 404', async (id) => {
    await expect(own.openai.responses.retrieve(id)).rejects.toMatchObject({ status: 404, code: 'run_not_found' });
  });

  it.each([
    ['?stream=yes', 'stream'],
    ['?starting_after=1', 'starting_after'],
    ['?stream=true&starting_after=-1', 'starting_after'],
    ['?stream=true&starting_after=x', 'starting_after'],
    ['/input_items?limit=0', 'limit'],
    ['/input_items?limit=101', 'limit'],
    ['/input_items?order=up', 'order'],
  ])('with the query %s is 400', async (query, param) => {
    const { id } = await own.openai.responses.create({ model: own.agentId, input: 'hello' });
    const answer = await send('', { method: 'GET', path: `responses/${id}${query}` });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request', param } } });
  });

  it('of another agent than the conversation’s, or of none, is refused', async () => {
    const { id } = await own.openai.responses.create({ model: own.agentId, input: 'hello' });
    const other = await createAgent(own.app);
    const mixed = await send({ model: other, previous_response_id: id, input: 'x' });
    expect(mixed).toMatchObject({ status: 400, body: { error: { code: 'agent_mismatch', param: 'model' } } });
    const unknown = await send({ model: NOBODY, input: 'x' });
    expect(unknown).toMatchObject({ status: 404, body: { error: { code: 'agent_not_found', param: 'model' } } });
  });

  it('needs the permissions that threads need', async () => {
    const keyWith = async (...self: string[]) =>
      (await succeed<{ key: string }>(own.app, 'API_KEY_CREATE', { name: 'k', permissions: { self } })).key;
    const first = await own.openai.responses.create({ model: own.agentId, input: 'hello' });
    const plain = openAiClient({ ...own.app, apiKey: await keyWith('RUN_GET') });
    const refused = { status: 403, code: 'permission_denied' };
    await expect(plain.responses.create({ model: own.agentId, input: 'hello' })).rejects.toMatchObject(refused);
    await expect(plain.models.list()).rejects.toMatchObject(refused);
    const second = await plain.responses.create({ previous_response_id: first.id, input: 'hello' });
    expect(second.conversation).toEqual(first.conversation);
    const branch = plain.responses.create({ previous_response_id: first.id, input: 'hello' });
    await expect(branch).rejects.toMatchObject(refused);
    const named = plain.responses.create({ previous_response_id: second.id, input: 'x', metadata: { a: 'b' } });
    await expect(named).rejects.toMatchObject(refused);
  });

  // Limits are known to the process for a while: this test is the last one.
  it('that would copy a thread copies none if the runs of the organization are limited', async () => {
    const first = await own.openai.responses.create({ model: own.agentId, input: 'hello' });
    await own.openai.responses.create({ previous_response_id: first.id, input: 'hello' });
    const branch = () => send({ previous_response_id: first.id, input: 'hello' });
    await succeed(own.app, 'ORGANIZATION_UPDATE', { limits: { runs_per_minute: 1 } });
    try {
      await eventually(async () => expect((await branch()).status).toBe(429));
      const before = await countThreads();
      expect(await branch()).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } });
      expect(await countThreads()).toBe(before);
    } finally {
      await succeed(own.app, 'ORGANIZATION_UPDATE', { limits: null });
    }
  });
});
