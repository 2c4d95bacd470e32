import { setTimeout as sleep } from 'node:timers/promises';
import {
  createMcpHandler,
  ProtocolError,
  Server,
  type ServerCapabilities,
  type Tool,
} from '@modelcontextprotocol/server';
import { type ScriptedServer, startScripted } from './scripted-upstream.js';

export interface EraServer extends ScriptedServer {
  /** The names of calls that were aborted while they ran. */
  readonly aborted: string[];
}

const noArguments: Tool['inputSchema'] = { type: 'object' };
const TOOLS: Tool[] = [
  {
    name: 'echo',
    inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    _meta: { 'mcp.service': { public_tool: true } },
  },
  { name: 'progress', inputSchema: noArguments },
  { name: 'slow', inputSchema: noArguments },
  { name: 'fails', inputSchema: noArguments },
];
export const INSTRUCTIONS = 'Ask me in the era that you speak.';
export const RESOURCE_ERROR = { code: -32602, message: 'There is no such resource' };

/**
 * A server of `@modelcontextprotocol/server`, which speaks the modern era (MCP 2026-07-28).
 * @param legacy `reject`: no other one; `stateless`: the legacy era too
 * @param declared the capabilities that it declares in addition to those that all tests need
 */
export async function startEraServer(
  legacy: 'reject' | 'stateless' = 'reject',
  declared: Pick<ServerCapabilities, 'tools' | 'logging'> = { tools: { listChanged: true }, logging: {} },
): Promise<EraServer> {
  const aborted: string[] = [];
  const handler = createMcpHandler(() => createServer(aborted, declared), { legacy });
  const server = await startScripted(async ({ method, headers, message, hungUp }, response) => {
    const gone = new AbortController();
    void hungUp.then((isGone) => isGone && gone.abort());
    const request = new Request(`${server.origin}/mcp`, {
      method,
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
      signal: gone.signal,
      ...(method === 'POST' && { body: JSON.stringify(message) }),
    });
    const answer = await handler.fetch(request);
    response.writeHead(answer.status, [...answer.headers].flat());
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  return Object.assign(server, { aborted });
}

function createServer(aborted: string[], declared: ServerCapabilities): Server {
  const server = new Server(
    { name: 'era-server', version: '3.2.1' },
    {
      capabilities: { ...declared, resources: {}, prompts: {}, completions: {} },
      instructions: INSTRUCTIONS,
    },
  );
  server.setRequestHandler('tools/list', () => ({ tools: TOOLS }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const { name, arguments: args } = params;
    if (name === 'fails') return { isError: true, content: [{ type: 'text', text: 'It failed.' }] };
    if (name === 'slow') {
      await sleep(30_000, undefined, { signal: mcpReq.signal }).catch(() => aborted.push(name));
      return { content: [] };
    }
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of name === 'progress' && progressToken !== undefined ? [1, 2, 3] : []) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
      await sleep(20);
    }
    return { content: [{ type: 'text', text: `${name}: ${JSON.stringify(args ?? {})}` }] };
  });
  server.setRequestHandler('resources/list', () => ({ resources: [{ uri: 'era://one', name: 'one' }] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    if (uri !== 'era://one') throw new ProtocolError(RESOURCE_ERROR.code, RESOURCE_ERROR.message);
    return { contents: [{ uri, text: 'The content' }] };
  });
  server.setRequestHandler('prompts/list', () => ({ prompts: [{ name: 'greet', arguments: [{ name: 'whom' }] }] }));
  server.setRequestHandler('prompts/get', ({ params }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Hello ${params.arguments?.['whom']}` } }],
  }));
  server.setRequestHandler('completion/complete', ({ params }) => ({
    completion: { values: [`${params.argument.value}da`] },
  }));
  return server;
}
