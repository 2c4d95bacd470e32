import { it } from '@jest/globals';
import { startTestApp } from './support/app.js';
import { callProxy, pathOf, toolCall } from './support/proxy-calls.js';
import { connectTo } from './support/proxy-connections.js';
import { legacyServer, sendResult, startScripted } from './support/scripted-upstream.js';
it('x', async () => {
  const { script } = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') return sendResult(response, message, { tools: [{ name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' }, deep: {} }, additionalProperties: { type: 'string' } } }, { name: 'b', inputSchema: { type: 'object', properties: { text: { type: 'string' }, deep: {} } } },{ name: 'c', inputSchema: { type: 'object', additionalProperties: { type: 'string' } } }] });
    return sendResult(response, message, { content: [] });
  });
  const upstream = await startScripted(script);
  const lines: string[] = [];
  const app = await startTestApp({ env: { LOG_LEVEL: 'warn' }, onLogLine: (l) => lines.push(l) });
  const id = await connectTo(app, upstream.url);
  for (const n of ['echo', 'b', 'c']) console.log((await callProxy(app, pathOf(id), { key: app.apiKey, body: toolCall(n) })).text, lines.splice(0).join('\n'));
  await app.close(); await upstream.close();
});
