import { expect, it } from '@jest/globals';
import { startTestService } from '../../support/service.js';
import { agentOf, callThrough, gatewayPath } from '../../support/gateway-agents.js';
import { connectNotepad, NOTEPADS } from '../../support/notepads.js';
import { callProxy, openProxy, rpc, TAKES_STREAMS, toolCall } from '../../support/proxy-calls.js';
import { keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';

const [PROGRAM, WITH_SESSIONS] = NOTEPADS.map(([, start]) => start);

const app = useStarted(() =>
  startTestService({
    // One key can have a quarter of the programs.
    env: { STDIO_COMMANDS: 'node', STDIO_MAX_PROCESSES: '8', GATEWAY_SESSION_IDLE_MS: '1000' },
  }),
);

it('a caller with as many programs as it can have gets a clear error while all are in use, and others do not', async () => {
  const notepad = await PROGRAM!();
  const path = gatewayPath(app, await agentOf(app, [await connectNotepad(app, notepad)]));
  const [greedy, other] = await Promise.all([keyWith(app, { '*': ['*'] }), keyWith(app, { '*': ['*'] })]);
  const open = async (): Promise<Record<string, string>> => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const { headers } = await callProxy(app, path, {
      key: greedy,
      headers: TAKES_STREAMS,
      body: rpc('initialize', params),
    });
    return { ...TAKES_STREAMS, 'mcp-session-id': String(headers['mcp-session-id']) };
  };
  const [first, second, third] = [await open(), await open(), await open()];
  const waiting: Promise<unknown>[] = [];
  for (const headers of [first, second]) {
    waiting.push(openProxy(app, path, { key: greedy, headers, body: toolCall('never') }).catch(() => undefined));
    await eventually(() => expect(notepad.unanswered()).toBe(waiting.length));
  }
  const refused = await callProxy(app, path, { key: greedy, headers: third, body: toolCall('read') });
  expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  expect(JSON.parse(refused.text).error).toMatchObject({
    message: expect.stringContaining('the caller has reached the limit of programs in use'),
    data: { code: 'upstream_busy' },
  });
  expect((await callThrough(app, path, 'read', {}, other)).rpc.result?.content?.[0]?.text).toBe('nothing');
  // One that is no longer in use makes room.
  await callProxy(app, path, { method: 'DELETE', key: greedy, headers: first });
  await eventually(() => expect(notepad.ended()).toBeGreaterThan(0));
});

it('a session without use is ended, and made anew at the next call', async () => {
  const notepad = await WITH_SESSIONS!();
  const path = gatewayPath(app, await agentOf(app, [await connectNotepad(app, notepad)]));
  await callThrough(app, path, 'note', { text: 'secret' });
  await eventually(() => expect(notepad.ended()).toBe(1));
  expect((await callThrough(app, path, 'read')).rpc.result?.content?.[0]?.text).toBe('nothing');
  await notepad.close();
});
