import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { useFixtureServers } from '../../support/fixture-servers.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { isAlive } from '../../support/is-alive.js';
import {
  callProxy,
  errorIn,
  eventsOf,
  type ProxyAnswer,
  rpc,
  type RpcAnswer,
  rpcOf,
  TAKES_JSON,
  TAKES_STREAMS,
  toolCall,
} from '../../support/proxy-calls.js';
import { connectProgram, keyWith } from '../../support/proxy-connections.js';
import { askedClientContract } from './asked-clients.contract.js';
import {
  ACCEPTED,
  ALL,
  answerWith,
  callAsking,
  openClient,
  openSession,
  resultIn,
  ROOTS,
  SAID,
  textOf,
} from './asked-clients.support.js';
import { useTenantOfTwo } from '../../support/use-started.js';

/** Two processes of one service. */
const [app, other] = useTenantOfTwo();
const { argsOf, countIn } = useFixtureServers('asking-server');
let program: string;
let agent: string;
let paths: Record<string, string>;

beforeAll(async () => {
  program = await connect();
  agent = await agentOf(app, [program]);
  paths = {
    'an agent': gatewayPath(app, agent),
    'an agent over an agent': gatewayPath(app, await agentOf(app, [agent])),
  };
});

const connect = (more?: Parameters<typeof connectProgram>[2]): Promise<string> =>
  connectProgram(app, argsOf('ledger'), more);

/** The path of a new agent over a new connection. */
const ownPath = async (more?: Parameters<typeof connectProgram>[2]): Promise<string> =>
  gatewayPath(app, await agentOf(app, [await connect(more)]));

const seen = (word: string): number => countIn('ledger', word);

/** The result of a call that asks nobody. */
const resultOf = (answer: ProxyAnswer): RpcAnswer['result'] =>
  (answer.text.startsWith('{') ? rpcOf(answer) : eventsOf(answer).at(-1))?.result;

const call = (path: string, headers: Record<string, string>, tool = 'ask', key?: string): Promise<ProxyAnswer> =>
  callProxy(app, path, { key, headers, body: toolCall(tool) });

describe.each(['an agent', 'an agent over an agent'])(
  'a legacy client whose call is asked by a program of %s',
  (at) => {
    const path = (): string => paths[at] ?? '';
    askedClientContract({
      app: () => app,
      path,
      connectionId: () => program,
      elicitationId: 'page-1',
      progress: [2],
      together: [ACCEPTED, SAID, ROOTS],
      declaredIn: (result) => (result as { declared: unknown }).declared,
    });

    it('is not asked for what it does not declare: the program gets an error', async () => {
      for (const [tool, capabilities] of [
        ['ask', { sampling: {}, elicitation: { url: {} } }],
        ['visit', { elicitation: {} }],
        ['ask', {}],
      ] as const) {
        const { client, asked } = await openClient(app, path(), { capabilities });
        expect(await client.callTool({ name: tool })).toMatchObject({ isError: true });
        expect(asked).toEqual([]);
        await client.close();
      }
    });

    it('that fails to answer gives its error to the program', async () => {
      const fail = async (): Promise<never> => {
        throw new Error('Nobody is here');
      };
      const { client } = await openClient(app, path(), { elicit: fail });
      const { content, isError } = await client.callTool({ name: 'ask' });
      expect(isError).toBe(true);
      expect(JSON.stringify(content)).toContain('Nobody is here');
      await client.close();
    });

    it('uses one process for everything that it asks of the program', async () => {
      const { client } = await openClient(app, path());
      const { pid } = (await textOf(client, 'plain')) as { pid: string };
      const { messages } = await client.getPrompt({ name: 'plain', arguments: { of: 'x' } });
      expect(messages[0]?.content).toEqual({ type: 'text', text: pid });
      const ref = { type: 'ref/prompt' as const, name: 'plain' };
      const { completion } = await client.complete({ ref, argument: { name: 'of', value: '' } });
      expect(completion.values).toEqual([pid]);
      await client.close();
    });
  },
);

describe('what a program asks in one session', () => {
  const path = (): string => paths['an agent'] ?? '';

  it('is answered by nobody else: another session of the key, another key, or without a session', async () => {
    const [first, second] = [await openSession(app, path()), await openSession(app, path())];
    const calls = [await callAsking(app, path(), first), await callAsking(app, path(), second)] as const;
    const [toFirst, toSecond] = calls.map(({ asked }) => asked.id);
    const key = await keyWith(app, { '*': ['*'] });
    for (const refused of [
      await answerWith(app, path(), second, { id: toFirst, result: ACCEPTED }),
      await answerWith(app, path(), first, { id: toSecond, result: ACCEPTED }),
      await answerWith(app, path(), await openSession(app, path(), { key }), { id: toFirst, result: ACCEPTED }, key),
    ]) {
      expect([refused.status, errorIn(refused)?.data.code]).toEqual([400, 'invalid_rpc_request']);
    }
    // An answer without a session belongs to nothing.
    await answerWith(app, path(), TAKES_STREAMS, { id: toFirst, result: { action: 'decline' } });
    const answers = ['first', 'second'].map((name) => ({ action: 'accept', content: { name } }));
    await answerWith(app, path(), second, { id: toSecond, result: answers[1] });
    await answerWith(app, path(), first, { id: toFirst, result: answers[0] });
    expect(await Promise.all(calls.map(async ({ rest }) => resultIn(await rest)))).toEqual(answers);
  });

  it('is refused by another process, and the call goes on waiting', async () => {
    const session = await openSession(app, path());
    const { asked, rest } = await callAsking(app, path(), session);
    const elsewhere = await answerWith(other, path(), session, { id: asked.id, result: ACCEPTED });
    expect([elsewhere.status, errorIn(elsewhere)?.data.code]).toEqual([409, 'conflict']);
    await answerWith(app, path(), session, { id: asked.id, result: ACCEPTED });
    expect(resultIn(await rest)).toEqual(ACCEPTED);
  });

  it.each([
    ['takes it back', 'recall', 'take', 'recalled'],
    ['answers the call without it', 'hurry', 'plain', 'hurried'],
  ])('is withdrawn when the program %s', async (_what, tool, then, result) => {
    const session = await openSession(app, path());
    const { asked, rest } = await callAsking(app, path(), session, { tool });
    await call(path(), session, then, app.apiKey);
    const messages = await rest;
    expect(messages[0]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked.id } });
    expect(resultIn(messages)).toBe(result);
    expect((await answerWith(app, path(), session, { id: asked.id, result: ACCEPTED })).status).toBe(202);
  });

  it('is withdrawn when the program ends, and the next call starts another one', async () => {
    const session = await openSession(app, path());
    const { asked, rest } = await callAsking(app, path(), session, { tool: 'die' });
    const messages = await rest;
    expect(messages[0]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked.id } });
    expect(messages.at(-1)?.error).toMatchObject({ data: { code: 'upstream_unreachable' } });
    const next = await callAsking(app, path(), session);
    await answerWith(app, path(), session, { id: next.asked.id, result: ACCEPTED });
    expect(resultIn(await next.rest)).toEqual(ACCEPTED);
  });

  it('ends with the session, whose process ends too', async () => {
    const session = await openSession(app, path());
    const { pid } = resultIn(eventsOf(await call(path(), session, 'plain', app.apiKey))) as { pid: string };
    const { asked, rest } = await callAsking(app, path(), session);
    expect((await callProxy(app, path(), { key: app.apiKey, method: 'DELETE', headers: session })).status).toBe(200);
    const messages = await rest;
    expect(messages[0]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked.id } });
    expect(messages.at(-1)).toHaveProperty('error');
    await eventually(() => expect(isAlive(Number(pid))).toBe(false));
  });

  it('ends with the call that the client cancels, or hangs up', async () => {
    const cancelled = seen('cancelled');
    const answered = Promise.withResolvers<ElicitResult>();
    const { client, asked } = await openClient(app, path(), { elicit: () => answered.promise });
    const abort = new AbortController();
    const calling = client.callTool({ name: 'ask' }, undefined, { signal: abort.signal });
    calling.catch(() => undefined);
    await eventually(() => expect(asked).toHaveLength(1));
    abort.abort();
    await expect(calling).rejects.toThrow();
    await eventually(() => expect(seen('cancelled')).toBe(cancelled + 1));
    answered.resolve(ACCEPTED);
    expect(await textOf(client, 'plain')).toMatchObject({ declared: ALL });
    await client.close();
    const session = await openSession(app, path());
    (await callAsking(app, path(), session)).leave();
    await eventually(() => expect(seen('cancelled')).toBe(cancelled + 2));
  });
});

describe('no client is asked', () => {
  it('that takes no stream', async () => {
    const { 'mcp-session-id': id = '' } = await openSession(app, paths['an agent'] ?? '');
    const answer = await call(paths['an agent'] ?? '', { ...TAKES_JSON, 'mcp-session-id': id }, 'ask', app.apiKey);
    expect(resultOf(answer)).toMatchObject({ isError: true });
    expect(answer.text).toContain('text/event-stream');
  });

  it('where callers share the process', async () => {
    const path = await ownPath({ shared_state: true });
    const session = await openSession(app, path);
    const answer = await call(path, session, 'ask', app.apiKey);
    expect(resultOf(answer)).toMatchObject({ isError: true });
  });

  it('without a credential', async () => {
    const path = paths['an agent'] ?? '';
    const clientInfo = { name: 'anonymous', version: '1' };
    const params = { protocolVersion: '2025-11-25', clientInfo, capabilities: ALL };
    const { headers } = await callProxy(app, path, { body: rpc('initialize', params) });
    const session = { ...TAKES_STREAMS, 'mcp-session-id': String(headers['mcp-session-id']) };
    expect(resultOf(await call(path, session, 'read'))).toMatchObject({ isError: true });
  });
});

it('the time limit of a connection does not run while the client is asked', async () => {
  const path = await ownPath({ timeout: 4_000 });
  const session = await openSession(app, path);
  // The program is started by a call, whose time can be over before it answers.
  await eventually(async () => expect(resultOf(await call(path, session, 'plain', app.apiKey))).toBeDefined());
  const { asked, rest } = await callAsking(app, path, session);
  // This call begins later, and its time is over.
  const late = await call(path, session, 'wait', app.apiKey);
  expect(errorIn(late)).toMatchObject({ data: { code: 'upstream_timeout' } });
  await answerWith(app, path, session, { id: asked.id, result: ACCEPTED });
  expect(resultIn(await rest)).toEqual(ACCEPTED);
});

it('a connection that is edited ends the process and what it asks', async () => {
  const own = await connect();
  const path = gatewayPath(app, await agentOf(app, [own]));
  const { asked, rest } = await callAsking(app, path, await openSession(app, path));
  const data = { stdio: { command: 'node', args: argsOf('edited') } };
  await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: own, data });
  const messages = await rest;
  expect(messages[0]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked.id } });
  expect(messages.at(-1)).toHaveProperty('error');
});
