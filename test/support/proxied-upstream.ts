import { expect } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { Tenant } from './tenant.js';
import { callProxy, pathOf, type ProxyAnswer, rpc, TAKES_STREAMS, toolCall } from './proxy-calls.js';
import { connectTo } from './proxy-connections.js';
import { legacyServer, type RpcMessage, type ScriptedServer, sendResult, startScripted } from './scripted-upstream.js';

/** What an upstream does with a request. */
export type AnswerScript = (response: ServerResponse, message: RpcMessage) => unknown;

/** An application with an upstream that has the tool `fine`, and that a test may let do anything with a request. */
export interface ProxiedUpstream<Service extends Tenant = Tenant> {
  readonly app: Service;
  readonly upstream: ScriptedServer;
  /** Makes a connection, so that no test sees the breaker that another one has opened; returns its path. */
  connected(more?: object): Promise<string>;
  /** Opens a session at the path of a connection; returns the headers of its requests. */
  openSession(path: string): Promise<Record<string, string>>;
  /** Calls the tool through a new connection, and does this with the call. */
  calledWith(script: AnswerScript, more?: object, headers?: Record<string, string>): Promise<ProxyAnswer>;
  /** Does this with tool calls while `work` goes on. */
  whileCalling<T>(script: AnswerScript, work: () => Promise<T>): Promise<T>;
  /** Does this with `tools/list` while `work` goes on. */
  whileListing<T>(script: AnswerScript, work: () => Promise<T>): Promise<T>;
  /** The upstream drops all its sessions. */
  forget(): void;
  close(): Promise<void>;
}

export const TOOLS = [{ name: 'fine', inputSchema: { type: 'object' } }];
/** What the tool answers. */
export const RESULT = { content: [{ type: 'text', text: 'fine' }] };

/** The answer to a call, as JSON text. */
export const answerText = ({ id }: RpcMessage): string => JSON.stringify({ jsonrpc: '2.0', id, result: RESULT });

const WELL_BEHAVED: Record<'onCall' | 'onList', AnswerScript> = {
  onCall: (response, message) => sendResult(response, message, RESULT),
  onList: (response, message) => sendResult(response, message, { tools: TOOLS }),
};

/** @param start starts the service */
export async function startProxiedUpstream<Service extends Tenant>(
  start: () => Promise<Service>,
): Promise<ProxiedUpstream<Service>> {
  const scripts = { ...WELL_BEHAVED };
  const { script, forget } = legacyServer(({ message }, response) => {
    if (message.method === 'tools/list') scripts.onList(response, message);
    else if (message.method === 'tools/call') scripts.onCall(response, message);
    else sendResult(response, message, {});
  });
  const upstream = await startScripted(script);
  const app = await start();

  async function scripted<T>(what: keyof typeof scripts, script: AnswerScript, work: () => Promise<T>): Promise<T> {
    scripts[what] = script;
    try {
      return await work();
    } finally {
      scripts[what] = WELL_BEHAVED[what];
    }
  }
  const connected = async (more: object = {}): Promise<string> => pathOf(app, await connectTo(app, upstream.url, more));

  return {
    app,
    upstream,
    connected,
    openSession: (path) => openSession(app, path),
    calledWith: async (script, more, headers = {}) => {
      const path = await connected(more);
      return scripted('onCall', script, () =>
        callProxy(app, path, { key: app.apiKey, headers, body: toolCall('fine') }),
      );
    },
    whileCalling: (script, work) => scripted('onCall', script, work),
    whileListing: (script, work) => scripted('onList', script, work),
    forget,
    close: async () => {
      await app.close();
      await upstream.close();
    },
  };
}

async function openSession(app: Tenant, path: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const body = rpc('initialize', params, 0);
  const answer = await callProxy(app, path, { key: app.apiKey, headers: TAKES_STREAMS, body });
  expect(answer.status).toBe(200);
  return { 'mcp-session-id': String(answer.headers['mcp-session-id']), 'mcp-protocol-version': '2025-11-25' };
}
