import { beforeAll, describe, expect, it } from '@jest/globals';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import {
  callProxy,
  errorIn,
  pathOf,
  type ProxyAnswer,
  rpcOf,
  TAKES_JSON,
  toolCall,
} from '../../support/proxy-calls.js';
import { connectTo, keyWith } from '../../support/proxy-connections.js';
import { succeed } from '../../support/agent-runs.js';
import {
  ACCEPTED,
  answerWith,
  type AskedCall,
  callAsking,
  openSession,
  resultIn,
  useModernAsking,
} from './asked-clients.support.js';
import { eventually } from '../../support/eventually.js';
import { useTenantOfTwo } from '../../support/use-started.js';

/** As many requests wait for one caller at most. */
const LIMIT = 100;

const upstream = useModernAsking();
/** Two processes of one service. */
const [app, other] = useTenantOfTwo();
let id: string;
let paths: Record<string, string>;

beforeAll(async () => {
  id = await connectTo(app, upstream.url);
  paths = { 'a connection': pathOf(app, id), 'an agent': gatewayPath(app, await agentOf(app, [id])) };
});

/** The same id with another character in its middle. */
const changed = (sealed: string): string => {
  const at = Math.floor(sealed.length / 2);
  return `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
};

const refusalOf = (answer: ProxyAnswer) => [answer.status, rpcOf(answer).error?.data.code];
const REFUSED = [400, 'invalid_rpc_request'];

describe.each(['a connection', 'an agent'])('an answer of a client, at %s', (at) => {
  const path = (): string => paths[at] ?? '';

  async function endWell(session: Record<string, string>, { asked, rest }: AskedCall): Promise<void> {
    expect((await answerWith(app, path(), session, { id: asked.id, result: ACCEPTED })).status).toBe(202);
    expect(resultIn(await rest)).toEqual(ACCEPTED);
  }

  it('is refused under another id, from another session and from another caller', async () => {
    const session = await openSession(app, path());
    const call = await callAsking(app, path(), session);
    const { id: askedId } = call.asked;
    for (const wrong of [7, 'x', `${askedId}x`, changed(askedId), session['mcp-session-id']]) {
      expect(refusalOf(await answerWith(app, path(), session, { id: wrong, result: ACCEPTED }))).toEqual(REFUSED);
    }
    const answer = { id: askedId, result: ACCEPTED };
    expect(refusalOf(await answerWith(app, path(), await openSession(app, path()), answer))).toEqual(REFUSED);
    const key = await keyWith(app, { '*': ['*'] });
    const theirs = await openSession(app, path(), { key });
    expect(refusalOf(await answerWith(app, path(), theirs, answer, key))).toEqual(REFUSED);
    expect(refusalOf(await answerWith(app, path(), session, answer, key))).toEqual([404, 'session_not_found']);
    await endWell(session, call);
  });

  it('is refused in another form, and can be sent again', async () => {
    const session = await openSession(app, path());
    const call = await callAsking(app, path(), session);
    for (const wrong of [
      { result: 'yes' },
      { result: [] },
      { result: null },
      { error: 'no' },
      { error: { code: '1', message: 'no' } },
      { error: { code: 1 } },
      { result: ACCEPTED, error: { code: 1, message: 'no' } },
      {},
    ]) {
      expect(refusalOf(await answerWith(app, path(), session, { id: call.asked.id, ...wrong }))).toEqual(REFUSED);
    }
    await endWell(session, call);
  });

  it('counts once, and is ignored when the call is over', async () => {
    const session = await openSession(app, path());
    const { asked, rest } = await callAsking(app, path(), session);
    const before = upstream.requests('server', 'ask');
    const answers = [ACCEPTED, { action: 'decline' }, { action: 'cancel' }];
    const all = await Promise.all(answers.map((result) => answerWith(app, path(), session, { id: asked.id, result })));
    expect(all.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(answers).toContainEqual(resultIn(await rest));
    expect((await answerWith(app, path(), session, { id: asked.id, result: ACCEPTED })).status).toBe(202);
    expect(upstream.requests('server', 'ask')).toBe(before + 1);
  });

  it('is refused by another process, and the call goes on waiting', async () => {
    const session = await openSession(app, path());
    const call = await callAsking(app, path(), session);
    const elsewhere = await answerWith(other, path(), session, { id: call.asked.id, result: ACCEPTED });
    expect(refusalOf(elsewhere)).toEqual([409, 'conflict']);
    await endWell(session, call);
  });
});

describe.each(['a connection', 'an agent'])('what waits for a client, at %s', (at) => {
  const NOT_ANSWERED = { code: -32603, message: expect.stringContaining('did not answer') };

  /** A path to a connection of its own. */
  async function ownPath(): Promise<[connectionId: string, path: string]> {
    const own = await connectTo(app, upstream.url);
    return [own, at === 'a connection' ? pathOf(app, own) : gatewayPath(app, await agentOf(app, [own]))];
  }

  it('ends with the session', async () => {
    const [, path] = await ownPath();
    const session = await openSession(app, path);
    const { rest } = await callAsking(app, path, session);
    expect((await callProxy(app, path, { key: app.apiKey, method: 'DELETE', headers: session })).status).toBe(200);
    expect((await rest).at(-1)?.error).toMatchObject(NOT_ANSWERED);
  });

  it('ends when the connection is edited, so that nothing is sent to what it was', async () => {
    const [own, path] = await ownPath();
    const { asked, rest } = await callAsking(app, path, await openSession(app, path));
    const before = upstream.requests('server', 'ask');
    const data = { connection_url: `${upstream.url}?edited` };
    await succeed(app, 'COLLECTION_CONNECTIONS_UPDATE', { id: own, data });
    const messages = await rest;
    expect(messages.at(-1)?.error).toMatchObject(NOT_ANSWERED);
    expect(messages[0]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked.id } });
    expect(upstream.requests('server', 'ask')).toBe(before);
  });

  it('ends with the key', async () => {
    const [, path] = await ownPath();
    const data = { name: 'short', permissions: { '*': ['*'] } };
    const { id: keyId, key } = await succeed<{ id: string; key: string }>(app, 'API_KEY_CREATE', data);
    const { rest } = await callAsking(app, path, await openSession(app, path, { key }), { key });
    await succeed(app, 'API_KEY_DELETE', { id: keyId });
    await expect(rest).rejects.toThrow();
  });
});

it('a client that takes no stream cannot be asked: the call fails', async () => {
  for (const path of Object.values(paths)) {
    const { 'mcp-session-id': session = '' } = await openSession(app, path);
    const headers = { ...TAKES_JSON, 'mcp-session-id': session };
    const answer = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('ask') });
    expect(rpcOf(answer).error).toMatchObject({ code: -32600, message: expect.stringContaining('text/event-stream') });
    const plain = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('plain') });
    expect(rpcOf(plain).result).toBeDefined();
  }
});

it('the time limit of a connection does not run while the client is asked', async () => {
  const path = pathOf(app, await connectTo(app, upstream.url, { timeout: 1_000 }));
  const session = await openSession(app, path);
  // What a first call prepares counts towards its time.
  await eventually(async () => {
    const answer = await callProxy(app, path, { key: app.apiKey, headers: session, body: toolCall('plain') });
    expect(errorIn(answer)).toBeUndefined();
  });
  // The time can be over before the client is asked, or after it has answered.
  await eventually(async () => {
    const { asked, rest } = await callAsking(app, path, session);
    if (asked.method === undefined) return false;
    // This call begins later, and its time is over.
    const headers = await openSession(app, path);
    const late = await callProxy(app, path, { key: app.apiKey, headers, body: toolCall('wait') });
    expect(errorIn(late)).toMatchObject({ data: { code: 'upstream_timeout' } });
    await answerWith(app, path, session, { id: asked.id, result: ACCEPTED });
    expect((await rest).at(-1)).toMatchObject({ result: expect.anything() });
    expect(resultIn(await rest)).toEqual(ACCEPTED);
    return true;
  });
});

it('a caller has a limited number of requests that wait for it, and another one has its own', async () => {
  const path = paths['a connection'] ?? '';
  const key = await keyWith(app, { '*': ['*'] });
  const session = await openSession(app, path, { key });
  const calls: AskedCall[] = [];
  for (let n = 0; n < LIMIT; n++) calls.push(await callAsking(app, path, session, { key }));
  const refused = await callProxy(app, path, { key, headers: session, body: toolCall('ask') });
  expect([refused.status, errorIn(refused)?.data.code]).toEqual([503, 'upstream_busy']);
  const own = await openSession(app, path);
  const { asked, rest } = await callAsking(app, path, own);
  await answerWith(app, path, own, { id: asked.id, result: ACCEPTED });
  expect(resultIn(await rest)).toEqual(ACCEPTED);
  for (const call of calls) await answerWith(app, path, session, { id: call.asked.id, result: ACCEPTED }, key);
  for (const call of calls) expect(resultIn(await call.rest)).toEqual(ACCEPTED);
  const again = await callAsking(app, path, session, { key });
  await answerWith(app, path, session, { id: again.asked.id, result: ACCEPTED }, key);
  expect(resultIn(await again.rest)).toEqual(ACCEPTED);
});
