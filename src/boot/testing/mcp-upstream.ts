import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type CallToolResult,
  createMcpHandler,
  type McpHttpHandler,
  ProtocolError,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { listenOnLoopback } from './loopback-server.js';

/** The arguments of a call, after the service has checked them against the tool's input schema. */
export type ToolArguments = Record<string, unknown>;

/** A tool of the upstream: its definition without the name, and its handler. */
export interface UpstreamTool extends Omit<Tool, 'name' | 'inputSchema'> {
  /** Accepts any object by default. */
  inputSchema?: Tool['inputSchema'];
  /**
   * Returns a text or a complete result. An exception becomes a result with `isError`; a `ProtocolError` becomes a
   * JSON-RPC error.
   *
   * @param signal aborted when the service disconnects
   */
  handler: (args: ToolArguments, signal: AbortSignal) => ToolOutcome | Promise<ToolOutcome>;
}

export type ToolOutcome = string | CallToolResult;

/** A call that reached the upstream. */
export interface UpstreamCall {
  tool: string;
  arguments: ToolArguments;
  /** The headers of its request, with the credentials of the connection. */
  headers: IncomingHttpHeaders;
}

/** An MCP server with tools that a test defines. */
export interface McpUpstream {
  /** The `connection_url` of a connection. */
  url: string;
  /** The tools by name. A test can replace them: each request reads them again. */
  tools: Record<string, UpstreamTool>;
  calls: UpstreamCall[];
  close(): Promise<void>;
}

/**
 * Starts a server of the official MCP SDK on a free loopback port. It speaks streamable HTTP in both protocol eras and
 * keeps no sessions.
 */
export async function startMcpUpstream(tools: Record<string, UpstreamTool>): Promise<McpUpstream> {
  const upstream: Omit<McpUpstream, 'url' | 'close'> = { tools, calls: [] };
  const headersOf = new WeakMap<Request, IncomingHttpHeaders>();
  const handler = createMcpHandler(({ requestInfo }) =>
    serverFor(upstream, (requestInfo && headersOf.get(requestInfo)) ?? {}),
  );
  const server = createServer((request, response) => {
    answer(handler, request, response, (webRequest) => headersOf.set(webRequest, request.headers)).catch(() =>
      response.destroy(),
    );
  });
  const { origin, close } = await listenOnLoopback(server);
  return Object.assign(upstream, {
    url: `${origin}/mcp`,
    close: async () => {
      await close();
      await handler.close();
    },
  });
}

function serverFor(upstream: Omit<McpUpstream, 'url' | 'close'>, headers: IncomingHttpHeaders): Server {
  const server = new Server({ name: 'scripted-upstream', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(upstream.tools).map(([name, tool]) => {
      const { handler: _handler, inputSchema = { type: 'object' }, ...definition } = tool;
      return { ...definition, name, inputSchema };
    }),
  }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
    upstream.calls.push({ tool: name, arguments: args, headers });
    const tool = upstream.tools[name];
    if (tool === undefined) throw new ProtocolError(-32602, `Unknown tool: ${name}`);
    try {
      const outcome = await tool.handler(args, mcpReq.signal);
      return typeof outcome === 'string' ? { content: [{ type: 'text', text: outcome }] } : outcome;
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      return {
        isError: true,
        content: [{ type: 'text', text: error instanceof Error ? error.message : String(error) }],
      };
    }
  });
  return server;
}

/** Answers a request of Node's HTTP server with a handler of web requests. */
async function answer(
  handler: McpHttpHandler,
  request: IncomingMessage,
  response: ServerResponse,
  onRequest: (webRequest: Request) => void,
): Promise<void> {
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort());
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const webRequest = new Request(`http://127.0.0.1${request.url}`, {
    method: request.method ?? 'GET',
    headers: Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
    signal: disconnected.signal,
    ...(request.method === 'POST' && { body: Buffer.concat(pieces) }),
  });
  onRequest(webRequest);
  const { status, headers, body } = await handler.fetch(webRequest);
  response.writeHead(status, Object.fromEntries(headers)).flushHeaders();
  for await (const piece of body ?? []) response.write(piece);
  response.end();
}
