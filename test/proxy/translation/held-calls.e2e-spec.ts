import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { newId } from '../../../src/core/ids.js';
import { modernRequest, openModern } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { startEverything, type EverythingServer } from '../../support/everything-server.js';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, eventsOf, pathOf, type ProxyAnswer, type RpcAnswer, rpcOf } from '../../support/proxy-calls.js';
import { auditOf, connectProgram, connectTo, keyWith } from '../../support/proxy-connections.js';
import { newTenant } from '../../support/tenant.js';
import { useStarted } from '../../support/use-started.js';

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

interface Asked {
  resultType: string;
  inputRequests: Record<string, { method: string; params: Record<string, unknown> }>;
  requestState: string;
}

const app = useStarted(newTenant);
const { argsOf, countIn, serve } = useFixtureServers('asking-server');
let everything: EverythingServer;
/** Of the connections. */
let ids: Record<'server' | 'program', string>;
let places: Record<string, string>;

beforeAll(async () => {
  everything = await startEverything();
  ids = {
    server: await connectTo(app, (await serve('ledger')).url),
    program: await connectProgram(app, argsOf('ledger')),
  };
  places = {};
  for (const [title, id] of Object.entries(ids)) {
    places[`a legacy ${title}`] = pathOf(app, id);
    const agent = await agentOf(app, [id]);
    places[`an agent over a legacy ${title}`] = gatewayPath(app, agent);
    places[`an agent over an agent over a legacy ${title}`] = gatewayPath(app, await agentOf(app, [agent]));
  }
});
afterAll(() => everything?.close());

function send(
  path: string,
  params: Record<string, unknown>,
  { method = 'tools/call', capabilities = ALL as object, key = app.apiKey, requestId = newId() } = {},
): Promise<ProxyAnswer> {
  const headers = { 'x-request-id': requestId };
  return callProxy(app, path, { key, ...modernRequest(method, params, { capabilities, headers }) });
}

const FORM = { type: 'object', properties: { name: { type: 'string' } } };
const formOf = (message: string) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: FORM },
});
const ACCEPTED = { action: 'accept', content: { name: 'Ada' } };
/** Answers everything that is asked. */
const allOf = ({ inputRequests, requestState }: Asked, response: object) => ({
  inputResponses: Object.fromEntries(Object.keys(inputRequests).map((key) => [key, response])),
  requestState,
});
const textIn = (answer: ProxyAnswer): unknown => JSON.parse(String(answerOf(answer)?.result?.content?.[0]?.text));

const answerOf = (answer: ProxyAnswer): RpcAnswer | undefined =>
  answer.text.startsWith('{') ? rpcOf(answer) : eventsOf(answer).at(-1);

const askedIn = (answer: ProxyAnswer): Asked => {
  const { result } = answerOf(answer) ?? {};
  expect(result).toMatchObject({ resultType: 'input_required' });
  return result as unknown as Asked;
};

const AT = ['server', 'program'].flatMap((kind) => [
  `a legacy ${kind}`,
  `an agent over a legacy ${kind}`,
  `an agent over an agent over a legacy ${kind}`,
]);

describe.each(AT)('a modern client whose call is asked by %s', (at) => {
  const path = (): string => places[at] ?? '';

  it.each([
    ['accepts', ACCEPTED],
    ['declines', { action: 'decline' }],
    ['cancels', { action: 'cancel' }],
  ])('%s, and the upstream gets its answer', async (_what, response) => {
    const call = { name: 'ask', arguments: {} };
    const asked = askedIn(await send(path(), call));
    expect(Object.values(asked.inputRequests)).toEqual([formOf('Who?')]);
    const answered = await send(path(), { ...call, ...allOf(asked, response) });
    expect(answerOf(answered)?.result).toMatchObject({
      resultType: 'complete',
      content: [{ text: JSON.stringify(response) }],
    });
  });

  it('is asked again by the same call', async () => {
    const call = { name: 'again', arguments: {} };
    const first = askedIn(await send(path(), call));
    const second = askedIn(await send(path(), { ...call, ...allOf(first, ACCEPTED) }));
    expect([first, second].map(({ inputRequests }) => Object.values(inputRequests))).toEqual([
      [formOf('Question 1')],
      [formOf('Question 2')],
    ]);
    expect(textIn(await send(path(), { ...call, ...allOf(second, { action: 'decline' }) }))).toEqual([
      ACCEPTED,
      { action: 'decline' },
    ]);
  });

  it('answers a form, a completion and the roots, which the call asks for at once', async () => {
    const call = { name: 'together', arguments: {} };
    const said = { role: 'assistant', content: { type: 'text', text: 'It' }, model: 'm' };
    const listed = { roots: [{ uri: 'file:///a' }] };
    const responses: Record<string, object> = {
      'elicitation/create': ACCEPTED,
      'sampling/createMessage': said,
      'roots/list': listed,
    };
    const questions: object[] = [];
    let answer = await send(path(), call);
    // A busy machine can be slow to bring the questions together.
    while (answerOf(answer)?.result?.['resultType'] === 'input_required') {
      const { inputRequests, requestState } = askedIn(answer);
      questions.push(...Object.values(inputRequests));
      const answered = Object.entries(inputRequests).map(([key, { method }]) => [key, responses[method]]);
      answer = await send(path(), { ...call, inputResponses: Object.fromEntries(answered), requestState });
    }
    expect(textIn(answer)).toEqual([ACCEPTED, said, listed]);
    expect(questions).toHaveLength(3);
    expect(questions).toEqual(
      expect.arrayContaining([
        formOf('Who?'),
        {
          method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say it' } }], maxTokens: 9 },
        },
        { method: 'roots/list', params: {} },
      ]),
    );
  });

  it('opens a page', async () => {
    const call = { name: 'visit', arguments: {} };
    const asked = askedIn(await send(path(), call));
    const params = { mode: 'url', url: 'https://a.example/visit', message: 'Visit it' };
    expect(Object.values(asked.inputRequests)).toEqual([{ method: 'elicitation/create', params }]);
    expect(textIn(await send(path(), { ...call, ...allOf(asked, { action: 'accept' }) }))).toEqual({
      action: 'accept',
    });
  });

  it('is asked by a server that does not say which call it asks for', async () => {
    const call = { name: 'aside', arguments: {} };
    const asked = askedIn(await send(path(), call));
    expect(Object.values(asked.inputRequests)).toEqual([formOf('Who?')]);
    expect(textIn(await send(path(), { ...call, ...allOf(asked, ACCEPTED) }))).toEqual(ACCEPTED);
  });

  it('is asked for prompts and resources too', async () => {
    for (const [method, params] of [
      ['prompts/get', { name: 'ask' }],
      ['resources/read', { uri: 'ask://one' }],
    ] as const) {
      const asked = askedIn(await send(path(), params, { method }));
      expect(Object.values(asked.inputRequests)).toEqual([formOf('Who?')]);
      const answered = await send(path(), { ...params, ...allOf(asked, ACCEPTED) }, { method });
      expect(answerOf(answered)?.result).toMatchObject({ resultType: 'complete' });
      expect(answered.text).toContain('Ada');
    }
  });

  it('is not asked for what it does not declare: the upstream gets an error', async () => {
    for (const [name, capabilities] of [
      ['ask', { sampling: {}, elicitation: { url: {} } }],
      ['visit', { elicitation: {} }],
      ['ask', {}],
    ] as const) {
      const answer = await send(path(), { name, arguments: {} }, { capabilities });
      expect(answerOf(answer)?.result).toMatchObject({ resultType: 'complete', isError: true });
      expect(answer.text).not.toContain('inputRequests');
    }
  });

  it('answers with a client of the SDK', async () => {
    const client = await openModern(app, path().replace(pathOf(app, ''), ''), { elicitation: {} });
    const questions: string[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params.message);
      return ACCEPTED as { action: 'accept'; content: { name: string } };
    });
    const { content } = (await client.callTool({ name: 'again', arguments: {} })) as CallToolResult;
    expect(content).toEqual([{ type: 'text', text: JSON.stringify([ACCEPTED, ACCEPTED]) }]);
    expect(questions).toEqual(['Question 1', 'Question 2']);
    await client.close();
  });
});

describe.each(['a legacy server', 'a legacy program'])('a call that asks at %s', (at) => {
  const path = (): string => places[at] ?? '';

  it('sends progress to the request that waits, under its token', async () => {
    const call = (progressToken: string) => ({ name: 'again', arguments: {}, _meta: { progressToken } });
    const first = await sendWithMeta(path(), call('first'));
    const second = await sendWithMeta(path(), { ...call('second'), ...allOf(askedIn(first), ACCEPTED) });
    expect([first, second].map(progressIn)).toEqual([
      [{ progressToken: 'first', progress: 1 }],
      [{ progressToken: 'second', progress: 2 }],
    ]);
  });

  it('is one of a caller that may call only this tool', async () => {
    const key = await keyWith(app, { [ids[at.endsWith('server') ? 'server' : 'program']]: ['ask'] });
    const call = { name: 'ask', arguments: {} };
    const asked = askedIn(await send(path(), call, { key }));
    expect(textIn(await send(path(), { ...call, ...allOf(asked, ACCEPTED) }, { key }))).toEqual(ACCEPTED);
  });

  it('is answered in one JSON body if its client takes no streams', async () => {
    const sendJson = (params: object): Promise<ProxyAnswer> => {
      const request = modernRequest('tools/call', { ...params, name: 'ask', arguments: {} }, { capabilities: ALL });
      const headers = { ...request.headers, accept: 'application/json' };
      return callProxy(app, path(), { key: app.apiKey, headers, body: request.body });
    };
    const asked = rpcOf(await sendJson({})).result as unknown as Asked;
    expect(rpcOf(await sendJson(allOf(asked, ACCEPTED))).result).toMatchObject({
      content: [{ text: JSON.stringify(ACCEPTED) }],
    });
  });

  it('is recorded once for each request of the client', async () => {
    const call = { name: 'ask', arguments: {} };
    const [first, second] = [newId(), newId()];
    const asked = askedIn(await send(path(), call, { requestId: first }));
    await send(path(), { ...call, ...allOf(asked, ACCEPTED) }, { requestId: second });
    for (const requestId of [first, second]) {
      expect(await auditOf(app, requestId)).toMatchObject({ tool_name: 'ask', status: 'success' });
    }
  });

  it('asks the client of the call that waits, while another call has asked', async () => {
    const call = { name: 'ask', arguments: {} };
    const first = askedIn(await send(path(), call));
    const second = askedIn(await send(path(), call));
    for (const [asked, name] of [
      [second, 'second'],
      [first, 'first'],
    ] as const) {
      const response = { action: 'accept', content: { name } };
      expect(textIn(await send(path(), { ...call, ...allOf(asked, response) }))).toEqual(response);
    }
  });

  it('is cancelled when its client closes the request that waits, but not when it closes after being asked', async () => {
    const seen = (word: string): number => countIn('ledger', word);
    const [began, cancelled] = [seen('began'), seen('cancelled')];
    const leaving = new AbortController();
    const request = modernRequest('tools/call', { name: 'wait', arguments: {} }, { capabilities: ALL });
    const waiting = fetch(new URL(path(), app.url), {
      method: 'POST',
      headers: { ...request.headers, 'content-type': 'application/json', authorization: `Bearer ${app.apiKey}` },
      body: JSON.stringify(request.body),
      signal: leaving.signal,
    }).then((response) => response.text());
    await eventually(async () => expect(seen('began')).toBe(began + 1));
    leaving.abort();
    await expect(waiting).rejects.toThrow();
    await eventually(async () => expect(seen('cancelled')).toBe(cancelled + 1));
    const call = { name: 'ask', arguments: {} };
    const asked = askedIn(await send(path(), call));
    expect(textIn(await send(path(), { ...call, ...allOf(asked, ACCEPTED) }))).toEqual(ACCEPTED);
    expect(seen('cancelled')).toBe(cancelled + 1);
  });

  it('is one of a client whose description says that it works', async () => {
    const answer = await send(path(), {}, { method: 'server/discover' });
    expect(answerOf(answer)?.result).toMatchObject({
      resultType: 'complete',
      capabilities: { tools: {}, prompts: {}, resources: {} },
    });
  });
});

it('log messages reach the request that waits, from the level that it names', async () => {
  const logsAt = async (level: string): Promise<unknown[]> => {
    const _meta = { 'io.modelcontextprotocol/logLevel': level };
    const answer = await sendWithMeta(places['a legacy server'] ?? '', { name: 'again', arguments: {}, _meta });
    return eventsOf(answer).flatMap((message) => ('method' in message ? [message] : []));
  };
  expect(await logsAt('info')).toMatchObject([
    { method: 'notifications/message', params: { level: 'info', data: 'round 1' } },
  ]);
  expect(await logsAt('warning')).toEqual([]);
});

it('server-everything lists and runs its tools for clients that answer, and lists them to no others', async () => {
  const id = await connectTo(app, everything.url);
  const listed = async (capabilities: object): Promise<string[]> => {
    const answer = await send(pathOf(app, id), {}, { method: 'tools/list', capabilities });
    return (answerOf(answer)?.result?.tools ?? []).map(({ name }) => name);
  };
  const ASKING = ['trigger-elicitation-request', 'trigger-sampling-request'];
  expect(await listed(ALL)).toEqual(expect.arrayContaining(ASKING));
  expect((await listed({})).filter((name) => ASKING.includes(name))).toEqual([]);
  const client = await openModern(app, id, ALL);
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    content: { type: 'text', text: 'Sampled' },
    model: 'm',
  }));
  // The server reads them soon after a session is opened.
  client.setRequestHandler('roots/list', () => ({ roots: [] }));
  const elicited = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
  expect(JSON.stringify(elicited.content)).toContain('Ada');
  const sampled = await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'x', maxTokens: 9 } });
  expect(JSON.stringify(sampled.content)).toContain('Sampled');
  await client.close();
});

it('callers that share a session are sent to a session of their own', async () => {
  const id = await connectTo(app, `${everything.url}`, { shared_state: true });
  const answer = await send(pathOf(app, id), {}, { method: 'server/discover' });
  expect(answer.status).toBe(400);
});

/** As `send`, with members of `_meta` of the test's own. */
function sendWithMeta(path: string, params: Record<string, unknown>): Promise<ProxyAnswer> {
  const { headers, body } = modernRequest('tools/call', params, { capabilities: ALL });
  const request = body as { params: { _meta: object } };
  const _meta = { ...request.params._meta, ...(params['_meta'] as object) };
  return callProxy(app, path, { key: app.apiKey, headers, body: { ...request, params: { ...request.params, _meta } } });
}

function progressIn(answer: ProxyAnswer): unknown[] {
  return eventsOf(answer).flatMap((message) => ('method' in message && 'params' in message ? [message.params] : []));
}
