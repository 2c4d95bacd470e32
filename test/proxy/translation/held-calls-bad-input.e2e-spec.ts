import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { VaultService } from '../../../src/platform/vault/vault.service.js';
import { OpenQuestions } from '../../../src/proxy/translation/held-calls/open-questions.js';
import { startTestApp } from '../../support/app.js';
import { modernRequest } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import {
  callProxy,
  errorIn,
  eventsOf,
  openProxy,
  pathOf,
  type ProxyAnswer,
  type RpcAnswer,
  rpcOf,
} from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  SSE_TYPE,
  startScripted,
} from '../../support/scripted-upstream.js';
import { useStarted } from '../../support/use-started.js';

const FORM = { elicitation: { form: {} } };
/** As many calls of one caller wait for their client at most. */
const LIMIT = 100;
const TOOLS = ['ask', 'other', 'hold', 'both'].map((name) => ({ name, inputSchema: { type: 'object' } }));

const app = useStarted(startTestApp);
let upstream: ScriptedServer;
let id: string;
let path: string;
/** Of `app.apiKey`. */
let keyId: string;
/** What the upstream was answered. */
let answers: (RpcMessage & { result?: object; error?: { code: number } })[];
let onAnswer: (answer: RpcMessage) => void;

const eventOf = (message: object): string =>
  `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const formOf = (id: string | number) => ({
  id,
  method: 'elicitation/create',
  params: { message: 'Who?', requestedSchema: {} },
});

function write(response: ServerResponse, message: object): void {
  response.write(eventOf(message));
}

/**
 * `ask` sends a form under the id in its arguments, and returns the answer to it; `both` sends two at
 * once; `hold` begins, and never ends.
 */
const asking = legacyServer(async ({ message }, response) => {
  if (message.method === 'tools/list') return sendResult(response, message, { tools: TOOLS });
  response.writeHead(200, SSE_TYPE);
  const { name, arguments: args = {} } = message.params as { name: string; arguments?: { id?: string | number } };
  if (name === 'hold') {
    write(response, { method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } });
    return undefined;
  }
  if (name === 'both') {
    const two = new Promise<void>((resolve) => {
      onAnswer = () => answers.length === 2 && resolve();
    });
    response.write(eventOf(formOf('a')) + eventOf(formOf('b')));
    await two;
    const content = [{ type: 'text', text: JSON.stringify(answers) }];
    write(response, { id: message.id, result: { content } });
    response.end();
    return undefined;
  }
  const asked = args.id ?? 'q';
  const answered = new Promise<RpcMessage>((resolve) => {
    const next = onAnswer;
    onAnswer = (answer) => (answer.id === asked ? resolve(answer) : next(answer));
  });
  write(response, formOf(asked));
  const answer = await Promise.race([answered, once(response, 'close').then(() => undefined)]);
  if (answer === undefined) return undefined;
  const content = [{ type: 'text', text: JSON.stringify(answer) }];
  write(response, { id: message.id, result: { content } });
  response.end();
  return undefined;
});

beforeAll(async () => {
  upstream = await startScripted((request, response) => {
    const { message } = request;
    if (message.method !== undefined || message.id === undefined) return asking.script(request, response);
    answers.push(message);
    onAnswer(message);
    response.writeHead(202).end();
    return undefined;
  });
  id = await connectTo(app, upstream.url);
  path = pathOf(app, id);
  const [key] = await app.query<{ id: string }>('SELECT id FROM api_keys ORDER BY created_at LIMIT 1');
  keyId = key?.id ?? '';
});
beforeEach(() => {
  answers = [];
  onAnswer = () => undefined;
});
afterAll(async () => {
  await upstream?.close();
});

const ASK = { name: 'ask', arguments: {} };
const ACCEPTED = { action: 'accept', content: { name: 'Ada' } };

function send(params: Record<string, unknown>, { at = path, key = app.apiKey, capabilities = FORM as object } = {}) {
  return callProxy(app, at, { key, ...modernRequest('tools/call', params, { capabilities }) });
}

const answerOf = (answer: ProxyAnswer): RpcAnswer | undefined =>
  answer.text.startsWith('{') ? rpcOf(answer) : eventsOf(answer).at(-1);

/** What a client repeats its request with. */
function answered({ requestState, inputRequests }: Record<string, unknown> = {}) {
  const [key = ''] = Object.keys(inputRequests as object);
  return { requestState, inputResponses: { [key]: ACCEPTED } };
}

/** Calls the tool, and returns the answer to what it asks. */
async function askedWith(call: Record<string, unknown>, options = {}): Promise<Record<string, unknown>> {
  return { ...call, ...answered(answerOf(await send(call, options))?.result) };
}

const textIn = (answer: ProxyAnswer): string => String(answerOf(answer)?.result?.content?.[0]?.text);
const calls = (name: string) => upstream.calls('tools/call').filter(({ message }) => message.params?.['name'] === name);

const cancelledIds = (): unknown[] =>
  upstream.calls('notifications/cancelled').map(({ message }) => message.params?.['requestId']);

describe('an upstream that asks', () => {
  it('sees what the client declares, and exactly its answers, under its own ids', async () => {
    for (const asked of ['q', 7]) {
      const call = { name: 'ask', arguments: { id: asked } };
      const answer = await send(await askedWith(call));
      expect(JSON.parse(textIn(answer))).toEqual({ jsonrpc: '2.0', id: asked, result: ACCEPTED });
    }
    expect(answers).toEqual(['q', 7].map((asked) => ({ jsonrpc: '2.0', id: asked, result: ACCEPTED })));
    const opened = upstream.calls('initialize').map(({ message }) => message.params?.['capabilities']);
    expect(opened).toContainEqual(FORM);
    expect(opened).toContainEqual({});
  });

  it('gets answers to several requests at once, and the client is asked again for what it leaves out', async () => {
    const call = { name: 'both', arguments: {} };
    const asked = answerOf(await send(call))?.result ?? {};
    const keys = Object.keys(asked['inputRequests'] as object);
    expect(keys).toHaveLength(2);
    const [first = '', second = ''] = keys;
    const { requestState } = asked;
    const inputResponses = { [first]: ACCEPTED, unasked: ACCEPTED };
    const again = answerOf(await send({ ...call, inputResponses, requestState }))?.result ?? {};
    expect(Object.keys(again['inputRequests'] as object)).toEqual([second]);
    const last = { inputResponses: { [second]: { action: 'decline' } }, requestState: again['requestState'] };
    expect(JSON.parse(textIn(await send({ ...call, ...last })))).toEqual([
      { jsonrpc: '2.0', id: 'a', result: ACCEPTED },
      { jsonrpc: '2.0', id: 'b', result: { action: 'decline' } },
    ]);
  });

  it('gets the call cancelled when the client closes the request that waits', async () => {
    const _meta = { progressToken: 'p' };
    const { headers, body } = modernRequest('tools/call', { name: 'hold', arguments: {} }, { capabilities: FORM });
    const { params } = body as { params: { _meta: object } };
    const held = { ...body, params: { ...params, _meta: { ...params._meta, ..._meta } } };
    const response = await openProxy(app, path, { key: app.apiKey, headers, body: held });
    await once(response, 'data');
    const [called] = calls('hold').slice(-1);
    response.destroy();
    await eventually(() => expect(cancelledIds()).toContain(called?.message.id));
  });
});

describe('a state', () => {
  const refusedWith = async (params: object, options = {}): Promise<void> => {
    const refused = await send(params as Record<string, unknown>, options);
    expect({ status: refused.status, code: errorIn(refused)?.data.code }).toEqual({
      status: 400,
      code: 'invalid_rpc_request',
    });
  };

  it('is valid for the same request of the same caller at the same place, and once', async () => {
    const agents = [await agentOf(app, [id]), await agentOf(app, [id])].map((agent) => gatewayPath(app, agent));
    const [agent = '', other = ''] = agents;
    const elsewhere = pathOf(app, await connectTo(app, upstream.url));
    const key = await keyWith(app, { '*': ['*'] });
    for (const at of [path, agent]) {
      const retry = await askedWith(ASK, { at });
      const state = String(retry['requestState']);
      await refusedWith({ ...retry, requestState: `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}` }, { at });
      await refusedWith({ ...retry, requestState: 'input:x' }, { at });
      await refusedWith({ ...retry, requestState: `input:${'x'.repeat(5_000)}` }, { at });
      for (const requestState of [state.slice(0, -10), state.replace('input', 'ask'), state.slice(6), '', 7, null]) {
        await refusedWith({ ...retry, requestState }, { at });
      }
      await refusedWith({ ...retry, name: 'other' }, { at });
      await refusedWith({ ...retry, arguments: { id: 'other' } }, { at });
      await refusedWith(retry, { at, key });
      for (const wrong of [path, agent, other, elsewhere].filter((one) => one !== at)) {
        await refusedWith(retry, { at: wrong });
      }
      await refusedWith({ ...retry, requestState: agedBy(11 * 60_000, state, at) }, { at });
      for (const inputResponses of [7, [], { a: 'x' }, { a: null }])
        await refusedWith({ ...retry, inputResponses }, { at });
      expect(answers).toEqual([]);
      expect(textIn(await send(retry, { at }))).toContain('Ada');
      await refusedWith({ ...retry, inputResponses: { request_1: { action: 'decline' } } }, { at });
      answers = [];
    }
  });

  /** The same state, made at another time. */
  function agedBy(ageMs: number, state: string, at: string): string {
    const vault = app.app.get(VaultService, { strict: false });
    const context = `mcp-input:${at.split('/').at(-1)}:${keyId}`;
    const opened = JSON.parse(vault.open(state.slice('input:'.length), context)) as { at: number };
    return `input:${vault.seal(JSON.stringify({ ...opened, at: opened.at - ageMs }), context)}`;
  }

  it('that is repeated with the same answers gets the same result, without another call', async () => {
    const retry = await askedWith(ASK);
    const before = calls('ask').length;
    const [first, second] = [await send(retry), await send(retry)];
    expect(answerOf(second)?.result).toEqual(answerOf(first)?.result);
    expect(textIn(second)).toContain('Ada');
    expect(calls('ask')).toHaveLength(before);
    expect(answers).toHaveLength(1);
  });

  it('that several requests bring at once is answered once', async () => {
    const retry = await askedWith(ASK);
    const all = await Promise.all([1, 2, 3].map(() => send(retry)));
    expect(all.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(all.filter(({ status }) => status !== 200).map(({ status }) => status)).not.toContain(500);
    expect(answers).toHaveLength(1);
  });

  it('that brings no answers is asked for again', async () => {
    const { inputResponses, ...retry } = await askedWith(ASK);
    const again = answerOf(await send(retry))?.result;
    expect(again).toMatchObject({ resultType: 'input_required' });
    expect(again?.['requestState']).not.toBe(retry['requestState']);
    const last = await send({ ...ASK, inputResponses, requestState: again?.['requestState'] });
    expect(textIn(last)).toContain('Ada');
  });
});

it('a call whose client does not answer is cancelled at the upstream', async () => {
  const retry = await askedWith(ASK);
  const [called] = calls('ask').slice(-1);
  // As after ten minutes.
  app.app.get(OpenQuestions, { strict: false }).beforeApplicationShutdown();
  await eventually(() => expect(cancelledIds()).toContain(called?.message.id));
  await eventually(() => expect(answers).toMatchObject([{ id: 'q', error: { code: -32603 } }]));
  expect((await send(retry)).status).toBe(400);
});

it('a caller has a limited number of calls that wait for it, and another one has its own', async () => {
  const key = await keyWith(app, { '*': ['*'] });
  // The second round fits only after the memory of the first was given back.
  const padding = 'x'.repeat(75_000);
  const askOnce = async (_none: unknown, n: number): Promise<Record<string, unknown> | undefined> => {
    const call = { name: 'ask', arguments: { id: `many-${n}`, padding } };
    const { error, result } = answerOf(await send(call, { key })) ?? {};
    if (error !== undefined) expect(error).toMatchObject({ data: { code: 'upstream_busy' } });
    return error === undefined ? { ...call, ...answered(result) } : undefined;
  };
  for (const [asked, waiting] of [
    [LIMIT + 20, LIMIT],
    [20, 20],
  ] as const) {
    const before = cancelledIds().length;
    const all = await Promise.all(Array.from({ length: asked }, askOnce));
    const retries = all.filter((retry) => retry !== undefined);
    expect(retries).toHaveLength(waiting);
    await eventually(() => expect(cancelledIds().length - before).toBe(asked - waiting));
    expect(textIn(await send(await askedWith(ASK)))).toContain('Ada');
    for (const retry of retries) expect(textIn(await send(retry, { key }))).toContain('Ada');
  }
});
