import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import type { Tenant } from '../../support/tenant.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, eventsOf, openProxy, type ProxyAnswer, rpc, rpcOf, toolCall } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendResult,
  startScripted,
} from '../../support/scripted-upstream.js';

/** The parameters of a client that answers sampling requests. */
export const ASKING = {
  protocolVersion: '2025-11-25',
  clientInfo: { name: 'test', version: '1' },
  capabilities: { sampling: {} },
};
export const TOOLS = [{ name: 'ask', inputSchema: { type: 'object' } }];

/** Starts the service, and an agent over an upstream whose tool sends a sampling request to the caller. */
export function useAskingUpstream<Service extends Tenant>(start: () => Promise<Service>) {
  let app: Service;
  let upstream: ScriptedServer;
  let forget: () => void;
  let connectionId: string;
  let path: string;
  /** The answers that the upstream received, with their sessions. */
  let answers: { session: unknown; message: RpcMessage & { result?: unknown; error?: unknown } }[];
  let waiting: { response: ServerResponse; id: RpcMessage['id'] }[];

  beforeAll(async () => {
    app = await start();
    const server = legacyServer(({ message, headers }, response) => {
      if (message.method === undefined) {
        answers.push({ session: headers['mcp-session-id'], message });
        response.writeHead(202).end();
        // A spec ends a call whose request is refused.
        if ('error' in message) return;
        const asked = waiting.shift();
        const done = { jsonrpc: '2.0', id: asked?.id, result: { content: [{ type: 'text', text: 'done' }] } };
        asked?.response.end(`data: ${JSON.stringify(done)}\n\n`);
      } else if (message.method === 'tools/list') sendResult(response, message, { tools: TOOLS });
      else if (message.method === 'tools/call') {
        waiting.push({ response, id: message.id });
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const request = {
          jsonrpc: '2.0',
          id: 7,
          method: 'sampling/createMessage',
          params: { big: 'x'.repeat(100_000) },
        };
        response.write(`event: message\ndata: ${JSON.stringify(request)}\n\n`);
      } else sendResult(response, message, {});
    });
    ({ forget } = server);
    upstream = await startScripted(server.script);
    connectionId = await connectTo(app, upstream.url);
    path = gatewayPath(app, await agentOf(app, [connectionId]));
  });
  beforeEach(() => {
    [answers, waiting] = [[], []];
  });
  afterAll(async () => {
    await upstream?.close();
    await app?.close();
  });

  /** Opens a session at the agent. Returns the headers of its requests. */
  async function open(key = app.apiKey, params: object = ASKING): Promise<Record<string, string>> {
    const answer = await callProxy(app, path, { key, body: rpc('initialize', params) });
    expect(answer.status).toBe(200);
    return {
      'mcp-session-id': String(answer.headers['mcp-session-id']),
      accept: 'application/json, text/event-stream',
    };
  }

  /** Calls the tool. Returns the id of the upstream's request, and the rest of the stream. */
  async function ask(
    headers: Record<string, string>,
    key = app.apiKey,
  ): Promise<{ id: string; rest: Promise<string> }> {
    const stream = await openProxy(app, path, { key, headers, body: toolCall('ask') });
    const text = async (): Promise<string> => {
      for await (const chunk of stream) received += String(chunk);
      return received;
    };
    let received = '';
    const rest = text();
    await eventually(() => received.endsWith('\n\n') && received.includes('sampling/createMessage'));
    const [asked] = eventsOf({ text: received }) as unknown as [{ id: string; params: { big: string } }];
    expect(asked.params.big).toHaveLength(100_000);
    return { id: asked.id, rest };
  }

  const answerTo = (
    id: unknown,
    headers: Record<string, string>,
    key = app.apiKey,
    at: Tenant = app,
  ): Promise<ProxyAnswer> =>
    callProxy(at, path, { key, headers, body: { jsonrpc: '2.0', id, result: { role: 'assistant' } } });

  return {
    get app() {
      return app;
    },
    get upstream() {
      return upstream;
    },
    get connectionId() {
      return connectionId;
    },
    /** The path of the agent. */
    get path() {
      return path;
    },
    /** The answers that the upstream received in this test, with their sessions. */
    get answers() {
      return answers;
    },
    /** The tool calls of this test that the upstream has not answered yet. */
    get waiting() {
      return waiting;
    },
    /** Makes the upstream lose its sessions. */
    forget: () => forget(),
    open,
    ask,
    answerTo,
  };
}

/** The HTTP status and the error code of an answer. */
export const errorOf = (answer: ProxyAnswer) => [answer.status, rpcOf(answer).error?.data.code];
