import { describe, expect, it } from '@jest/globals';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { newTenant } from '../../support/tenant.js';
import { legacyServer, sendResult, startScripted } from '../../support/scripted-upstream.js';
import { ASKING, errorOf, TOOLS, useAskingUpstream } from './gateway-sampling.support.js';

const asking = useAskingUpstream(newTenant);
const { open, ask, answerTo, forget } = asking;

describe('a request of an upstream to the caller of an agent', () => {
  it('does not reach a client without capabilities, which has no client-upstream session', async () => {
    const session = await open(asking.app.apiKey, { ...ASKING, capabilities: {} });
    const before = asking.upstream.calls('initialize').length;
    const call = callProxy(asking.app, asking.path, {
      key: asking.app.apiKey,
      headers: session,
      body: toolCall('ask'),
    });
    await eventually(() => expect(asking.waiting.length).toBeGreaterThan(0));
    asking.waiting.shift()?.response.end();
    expect((await call).text).not.toContain('sampling');
    const opened = asking.upstream.calls('initialize').slice(before);
    expect(JSON.stringify(opened.map(({ message }) => message.params))).not.toContain('sampling');
  });

  it('does not block other tools while an upstream does not open a session', async () => {
    const isOpening = Promise.withResolvers<void>();
    const server = legacyServer(({ message }, response) => {
      if (message.method === 'tools/list') sendResult(response, message, { tools: [{ ...TOOLS[0], name: 'slow' }] });
      else sendResult(response, message, { content: [{ type: 'text', text: 'called as everyone calls it' }] });
    });
    const slow = await startScripted((request, response) => {
      const { capabilities = {} } = (request.message.params ?? {}) as { capabilities?: object };
      // Never answers a client with capabilities.
      if (request.message.method === 'initialize' && 'sampling' in capabilities) isOpening.resolve();
      else return server.script(request, response);
      return undefined;
    });
    const agent = gatewayPath(
      asking.app,
      await agentOf(asking.app, [asking.connectionId, await connectTo(asking.app, slow.url)]),
    );
    const opening = await callProxy(asking.app, agent, { key: asking.app.apiKey, body: rpc('initialize', ASKING) });
    const headers = {
      'mcp-session-id': String(opening.headers['mcp-session-id']),
      accept: 'application/json, text/event-stream',
    };
    const listed = await callProxy(asking.app, agent, { key: asking.app.apiKey, headers, body: rpc('tools/list') });
    await isOpening.promise;
    expect(rpcOf(listed).result?.tools?.map(({ name }) => name)).toEqual(['ask', 'slow']);
    const called = await callProxy(asking.app, agent, { key: asking.app.apiKey, headers, body: toolCall('slow') });
    expect(rpcOf(called).result?.content?.[0]?.text).toBe('called as everyone calls it');
    await slow.close();
  });

  it('arrives in another session when the upstream lost the first, and the tool runs once', async () => {
    const session = await open();
    const first = await ask(session);
    await answerTo(first.id, session);
    await first.rest;
    forget();
    const ran = asking.upstream.calls('tools/call').length;
    const second = await ask(session);
    expect((await answerTo(second.id, session)).status).toBe(202);
    expect(await second.rest).toContain('done');
    // The first attempt used a session that no longer existed.
    expect(asking.upstream.calls('tools/call').length - ran).toBe(2);
    expect(new Set(asking.answers.map((answer) => answer.session)).size).toBe(2);
  });

  it('can be answered after the upstream lost the session, which does not affect the caller', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    forget();
    expect((await answerTo(id, session)).status).toBe(202);
    expect(asking.answers).toEqual([]);
    asking.waiting.shift()?.response.destroy();
    expect(await rest).toContain('upstream_');
    const again = await ask(session);
    expect((await answerTo(again.id, session)).status).toBe(202);
    expect(await again.rest).toContain('done');
  });

  it('ends with the session of the caller', async () => {
    const session = await open();
    const { id, rest } = await ask(session);
    const ended = asking.upstream.requests.filter(({ method }) => method === 'DELETE').length;
    expect(
      (await callProxy(asking.app, asking.path, { method: 'DELETE', key: asking.app.apiKey, headers: session })).status,
    ).toBe(200);
    await eventually(() =>
      expect(asking.upstream.requests.filter(({ method }) => method === 'DELETE').length).toBeGreaterThan(ended),
    );
    expect(errorOf(await answerTo(id, session))).toEqual([404, 'session_not_found']);
    asking.waiting.shift()?.response.destroy();
    await rest.catch(() => undefined);
  });

  it('is not sent to a caller that does not accept a stream', async () => {
    const { 'mcp-session-id': id = '' } = await open();
    const headers = { 'mcp-session-id': id, accept: 'application/json' };
    const call = callProxy(asking.app, asking.path, { key: asking.app.apiKey, headers, body: toolCall('ask') });
    await eventually(() => expect(asking.waiting.length).toBeGreaterThan(0));
    asking.waiting.shift()?.response.end();
    expect((await call).text).not.toContain('sampling');
  });
});
