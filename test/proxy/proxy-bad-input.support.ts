import { afterAll, beforeAll, expect } from '@jest/globals';
import { newTenant, type Tenant } from '../support/tenant.js';
import { callProxy, pathOf, type ProxyAnswer, rpcOf } from '../support/proxy-calls.js';
import { connectTo, keyWith } from '../support/proxy-connections.js';
import { legacyServer, type ScriptedServer, sendResult, startScripted } from '../support/scripted-upstream.js';

const TOOLS = [
  {
    name: 'echo',
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string' }, deep: {} },
      additionalProperties: { type: 'string' },
    },
  },
  { name: 'strict', inputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } },
  {
    name: 'form',
    inputSchema: {
      type: 'object',
      properties: { name: { type: 'string' }, color: { enum: ['red', 'blue'], default: 'red' } },
      required: ['name', 'color'],
      additionalProperties: false,
    },
  },
];

export interface Refusal {
  status: number;
  rpc: number;
  code: string;
}

export const MALFORMED: Refusal = { status: 400, rpc: -32700, code: 'malformed_json' };
export const INVALID: Refusal = { status: 400, rpc: -32600, code: 'invalid_rpc_request' };

export const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

/** For the specs of input that the proxy refuses or must not change. */
interface BadInputProxy {
  readonly app: Tenant;
  readonly upstream: ScriptedServer;
  readonly connectionId: string;
  /** The path of the connection to the upstream. */
  readonly path: string;
  /** Is permitted to call only `echo`. */
  readonly limited: string;
  send: (body: unknown, headers?: Record<string, string>, key?: string) => Promise<ProxyAnswer>;
  /** Expects a JSON-RPC error, and that the request did not reach the upstream. */
  expectRefused: (answer: Promise<ProxyAnswer>, refusal: Refusal) => Promise<void>;
}

/** Starts the service with one connection before the tests of a spec, and stops it after them. */
export function useBadInputProxy(): BadInputProxy {
  let app: Tenant;
  let upstream: ScriptedServer;
  let connectionId: string;
  let path: string;
  let limited: string;

  beforeAll(async () => {
    const { script } = legacyServer(({ message }, response) => {
      if (message.method === 'tools/list') return sendResult(response, message, { tools: TOOLS });
      return sendResult(response, message, { content: [{ type: 'text', text: JSON.stringify(message.params) }] });
    });
    upstream = await startScripted(script);
    app = await newTenant();
    connectionId = await connectTo(app, upstream.url);
    path = pathOf(app, connectionId);
    limited = await keyWith(app, { [connectionId]: ['echo'] });
  });

  afterAll(async () => {
    await app?.close();
    await upstream?.close();
  });

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
    get path() {
      return path;
    },
    get limited() {
      return limited;
    },
    send: (body, headers = {}, key = app.apiKey) => callProxy(app, path, { key, headers, body }),
    expectRefused: async (answer, refusal) => {
      const before = upstream.requests.length;
      const response = await answer;
      const { error, jsonrpc } = rpcOf(response);
      expect({ status: response.status, rpc: error?.code, code: error?.data.code, jsonrpc }).toEqual({
        ...refusal,
        jsonrpc: '2.0',
      });
      expect(response.headers['content-type']).toMatch(/^application\/json/);
      expect(error?.data.request_id).toBe(response.headers['x-request-id']);
      expect(upstream.requests).toHaveLength(before);
    },
  };
}
