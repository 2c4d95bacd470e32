import { afterAll, expect } from '@jest/globals';
import { agentOf, gatewayPath } from '../support/gateway-agents.js';
import {
  callProxy,
  eventsOf,
  pathOf,
  type ProxyAnswer,
  type ProxyRequest,
  rpc,
  type RpcAnswer,
  rpcOf,
  TAKES_STREAMS,
} from '../support/proxy-calls.js';
import { connectTo } from '../support/proxy-connections.js';
import { startTaskUpstream, WITH_TASKS } from '../support/task-upstream.js';
import type { Tenant } from '../support/tenant.js';
import { useTenantOfTwo } from '../support/use-started.js';

const VERSION = '2026-07-28';

/** An endpoint with the tools of one connection. */
interface Endpoint {
  readonly path: string;
  /** The connection or agent that permissions name. */
  readonly resource: string;
}

/** Who asks, and how. */
interface Asked {
  readonly key?: string | undefined;
  readonly capabilities?: object;
  readonly at?: Tenant;
  readonly headers?: Record<string, string>;
}

/** The message in an answer, or the last of its stream. */
export const read = (answer: ProxyAnswer): RpcAnswer =>
  answer.text.startsWith('{') ? rpcOf(answer) : (eventsOf(answer).at(-1) as RpcAnswer);
export const textIn = (answer: ProxyAnswer): string | undefined => read(answer).result?.content?.[0]?.text;

/** Two processes of one service, and requests of a modern client with tasks, for the spec file that calls this. */
export function useModernTasks() {
  const [app, other] = useTenantOfTwo();
  const ended: (() => Promise<unknown>)[] = [];
  afterAll(() => Promise.all(ended.map((end) => end())));

  async function upstreamWith(options: Parameters<typeof startTaskUpstream>[0]) {
    const server = await startTaskUpstream(options);
    ended.push(() => server.close());
    return { server, id: await connectTo(app, server.url) };
  }

  async function agentWith(id: string): Promise<Endpoint> {
    const resource = await agentOf(app, [id]);
    return { path: gatewayPath(app, resource), resource };
  }

  async function connectionWith(id: string): Promise<Endpoint> {
    return { path: pathOf(app, id), resource: id };
  }

  /** One request of a modern client with tasks. */
  function ask(path: string, method: string, params: Record<string, unknown>, asked: Asked = {}): Promise<ProxyAnswer> {
    return callProxy(asked.at ?? app, path, asking(method, params, asked));
  }

  function asking(method: string, params: Record<string, unknown>, asked: Asked): ProxyRequest {
    const { capabilities = WITH_TASKS, headers = {} } = asked;
    const name = params['name'] ?? params['taskId'];
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    };
    return {
      key: 'key' in asked ? asked.key : app.apiKey,
      headers: {
        ...TAKES_STREAMS,
        'mcp-protocol-version': VERSION,
        'mcp-method': method,
        ...(name !== undefined && { 'mcp-name': String(name) }),
        ...headers,
      },
      body: rpc(method, { ...params, _meta }, 7),
    };
  }

  async function makeTask(path: string, asked: Asked & { name?: string } = {}): Promise<string> {
    const answer = await ask(path, 'tools/call', { name: asked.name ?? 'work', arguments: {} }, asked);
    const { result } = read(answer) as { result?: { resultType?: string; taskId?: string } };
    expect(result?.resultType).toBe('task');
    return String(result?.taskId);
  }

  return { app, other, upstreamWith, agentWith, connectionWith, ask, asking, makeTask };
}
