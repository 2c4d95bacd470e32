import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  ListPromptsRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, Server as ModernServer, type Tool } from '@modelcontextprotocol/server';
import { type ScriptedServer, type SeenRequest, startScripted } from './scripted-upstream.js';

/** A server made with the SDK whose lists can be changed while it runs. */
export interface ChangingServer extends ScriptedServer {
  /** What it lists from now on: tools with these names, or with all members. */
  readonly offered: { tools: (string | Tool)[]; prompts: string[] };
  /** The requests for a stream of news that it has got. */
  streams(): SeenRequest[];
  /** Tells every client that listens that a list has changed. */
  announce(kind: 'tools' | 'prompts'): Promise<void>;
  /** Forgets every session and ends every stream, as if it had been restarted. */
  restart(): Promise<void>;
}

const CAPABILITIES = { tools: { listChanged: true }, prompts: { listChanged: true } };
const INFO = { name: 'changing', version: '1' };

/** Of the legacy era. @param onStream answers the request for the stream in place of the SDK */
export async function startLegacyServer(
  onStream?: (response: ServerResponse) => void | Promise<void>,
): Promise<ChangingServer> {
  const offered: ChangingServer['offered'] = { tools: ['first'], prompts: ['first'] };
  const sessions = new Map<string, { transport: WebStandardStreamableHTTPServerTransport; server: LegacyServer }>();
  const open = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const server = new LegacyServer(INFO, { capabilities: CAPABILITIES });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toolsOf(offered) }));
    server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: promptsOf(offered) }));
    server.setRequestHandler(CallToolRequestSchema, () => ({ content: [{ type: 'text', text: 'called' }] }));
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, server }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await server.connect(transport);
    return transport;
  };
  const scripted = await startScripted(async (seen, response) => {
    const sessionId = seen.headers['mcp-session-id'];
    if (seen.method === 'GET' && onStream !== undefined) return onStream(response);
    const known = sessions.get(String(sessionId))?.transport;
    if (sessionId !== undefined && known === undefined) return void response.writeHead(404).end();
    const transport = known ?? (await open());
    return answer(seen, response, (request) => transport.handleRequest(request, { parsedBody: bodyOf(seen) }));
  });
  return {
    ...scripted,
    offered,
    streams: () => scripted.requests.filter(({ method }) => method === 'GET'),
    announce: async (kind) => {
      for (const { server } of sessions.values()) {
        await (kind === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged());
      }
    },
    restart: async () => {
      const ended = [...sessions.values()];
      sessions.clear();
      await Promise.all(ended.map(({ transport }) => transport.close()));
    },
  };
}

/** Of the modern era, which has no sessions. */
export async function startModernServer(): Promise<ChangingServer> {
  const offered: ChangingServer['offered'] = { tools: ['first'], prompts: ['first'] };
  const handler = createMcpHandler(
    () => {
      const server = new ModernServer(INFO, { capabilities: CAPABILITIES });
      server.setRequestHandler('tools/list', () => ({ tools: toolsOf(offered) }));
      server.setRequestHandler('prompts/list', () => ({ prompts: promptsOf(offered) }));
      server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'called' }] }));
      return server;
    },
    { legacy: 'reject' },
  );
  const streams = new Set<ServerResponse>();
  const scripted = await startScripted((seen, response) => {
    if (seen.message.method === 'subscriptions/listen') streams.add(response);
    return answer(seen, response, (request) => handler.fetch(request, { parsedBody: bodyOf(seen) }));
  });
  return {
    ...scripted,
    offered,
    streams: () => scripted.calls('subscriptions/listen'),
    announce: async (kind) => (kind === 'tools' ? handler.notify.toolsChanged() : handler.notify.promptsChanged()),
    restart: async () => streams.forEach((response) => response.destroy()),
  };
}

const toolsOf = ({ tools }: ChangingServer['offered']) =>
  tools.map((tool) => (typeof tool === 'string' ? { name: tool, inputSchema: { type: 'object' as const } } : tool));
const promptsOf = ({ prompts }: ChangingServer['offered']) => prompts.map((name) => ({ name }));
export const bodyOf = ({ method, message }: SeenRequest): unknown => (method === 'POST' ? message : undefined);

/** The SDK's servers speak the web's `Request` and `Response`. */
export async function answer(
  { method, path, headers, hungUp, message }: SeenRequest,
  response: ServerResponse,
  serve: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  void hungUp.then(() => gone.abort());
  const body = method === 'POST' ? JSON.stringify(message) : null;
  const asked = new Request(`http://127.0.0.1${path}`, {
    method,
    headers: new Headers(headers as Record<string, string>),
    body,
    signal: gone.signal,
  });
  const answered = await serve(asked);
  response.writeHead(answered.status, Object.fromEntries(answered.headers)).flushHeaders();
  try {
    for await (const chunk of answered.body ?? []) response.write(chunk);
  } catch {
    // The client has gone.
  }
  response.end();
}
