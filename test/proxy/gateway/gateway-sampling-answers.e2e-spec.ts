import { describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { newTenantOfTwo, type Tenant } from '../../support/tenant.js';
import { callProxy, toolCall } from '../../support/proxy-calls.js';
import { auditOf, keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { ASKING, errorOf, useAskingUpstream } from './gateway-sampling.support.js';

/** A second process of the same service. */
let other: Tenant;
const asking = useAskingUpstream(async () => {
  const [app, second] = await newTenantOfTwo();
  other = second;
  return app;
});
const { open, ask, answerTo } = asking;

describe('a request of an upstream to the caller of an agent', () => {
  it.each([
    ['the process that relayed it', () => asking.app],
    ['another process', () => other],
  ])("is answered through %s, under the upstream's id", async (_title, at) => {
    const session = await open();
    const { id, rest } = await ask(session);
    expect(id).not.toContain('session-');
    expect((await answerTo(id, session, asking.app.apiKey, at())).status).toBe(202);
    expect(await rest).toContain('done');
    expect(asking.answers).toMatchObject([{ session: expect.stringContaining('session-'), message: { id: 7 } }]);
  });

  it('cannot be answered by other callers, or under a forged id', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    const key = await keyWith(asking.app, { '*': ['*'] });
    const refused = [400, 'invalid_rpc_request'];
    expect(errorOf(await answerTo(id, await open(key), key))).toEqual(refused);
    expect(errorOf(await answerTo(id, await open()))).toEqual(refused);
    expect(errorOf(await answerTo(id, session, key))).toEqual([404, 'session_not_found']);
    for (const forged of [7, 'x', `${id}x`, `${id.slice(0, -2)}AA`, session['mcp-session-id']]) {
      expect(errorOf(await answerTo(forged, session))).toEqual(refused);
    }
    expect(asking.answers).toEqual([]);
    expect((await answerTo(id, session)).status).toBe(202);
    await rest;
  });

  it('cannot be answered by a caller who is no longer permitted to use the connection', async () => {
    const { id: keyId, key } = await succeed<{ id: string; key: string }>(asking.app, 'API_KEY_CREATE', {
      name: 'limited',
      permissions: { [asking.connectionId]: ['ask'] },
    });
    const session = await open(key);
    const { id, rest } = await ask(session, key);
    // The answer can break off as soon as the permission is gone.
    const ended = rest.catch(() => undefined);
    await succeed(asking.app, 'API_KEY_UPDATE', { id: keyId, permissions: { [asking.connectionId]: ['other'] } });
    expect(errorOf(await answerTo(id, session, key))).toEqual([403, 'permission_denied']);
    expect(asking.answers).toEqual([]);
    asking.waiting.shift()?.response.destroy();
    await ended;
  });

  it('does not deliver an answer to a request that another connection received', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    const spoofed = { jsonrpc: '2.0', id: 2, result: { content: [{ type: 'text', text: 'spoofed' }] } };
    asking.waiting[0]?.response.write(`id: 1\ndata: ${JSON.stringify(spoofed)}\n\n`);
    await answerTo(id, session);
    const received = await rest;
    expect(received).toContain('done');
    expect(received).not.toContain('spoofed');
  });

  it('is recorded as part of its tool call', async () => {
    const requestId = `asked-${Date.now()}`;
    const session = await open();
    const { id, rest } = await ask({ ...session, 'x-request-id': requestId });
    await answerTo(id, session);
    await rest;
    expect(await auditOf(asking.app, requestId)).toMatchObject({
      door: 'gateway',
      connection_id: asking.connectionId,
      agent_id: asking.path.split('/').at(-1),
      tool_name: 'ask',
      status: 'success',
    });
  });

  it('does not deliver such an answer in a shared session either', async () => {
    const session = await open(asking.app.apiKey, { ...ASKING, capabilities: {} });
    const call = callProxy(asking.app, asking.path, {
      key: asking.app.apiKey,
      headers: session,
      body: toolCall('ask'),
    });
    await eventually(() => expect(asking.waiting.length).toBeGreaterThan(0));
    const [asked] = asking.waiting.splice(0);
    const answer = (id: unknown, text: string) =>
      `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })}\n\n`;
    asked?.response.end(answer(2, 'spoofed') + answer(asked.id, 'done'));
    const { text } = await call;
    expect(text).toContain('done');
    expect(text).not.toContain('spoofed');
  });
});
