import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A JSON-RPC message as a test server sees it. */
export interface RpcMessage {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
}

/** One HTTP request that reached a test server. */
export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  /** The parsed body; an empty message when there is none. */
  message: RpcMessage;
  /** Settles when the exchange is over: true when the client hung up before the response was complete. */
  hungUp: Promise<boolean>;
}

export type Script = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

export interface ScriptedServer {
  origin: string;
  /** The MCP endpoint. */
  url: string;
  requests: SeenRequest[];
  /** TCP connections so far. */
  connections(): number;
  /** The requests that carried this JSON-RPC method. */
  calls(method: string): SeenRequest[];
  close(): Promise<void>;
}

/** A node:http server on loopback that does what the script says. */
export async function startScripted(script: Script): Promise<ScriptedServer> {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void readMessage(request).then((message) => {
      const seen: SeenRequest = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        message,
        hungUp: once(response, 'close').then(() => !response.writableFinished),
      };
      requests.push(seen);
      return script(seen, response);
    });
  });
  let connections = 0;
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    requests,
    connections: () => connections,
    calls: (method) => requests.filter(({ message }) => message.method === method),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const JSON_TYPE = { 'content-type': 'application/json' };
export const SSE_TYPE = { 'content-type': 'text/event-stream' };

export function sendJson(response: ServerResponse, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { ...JSON_TYPE, ...headers }).end(JSON.stringify(body));
}

export function sendResult(response: ServerResponse, { id }: RpcMessage, result: unknown): void {
  sendJson(response, { jsonrpc: '2.0', id, result });
}

/** Writes without end, as fast as it is read. */
export function flood(
  response: ServerResponse,
  type: Record<string, string>,
  piece: string,
  onSent: (bytes: number) => void = () => undefined,
): void {
  response.writeHead(200, type);
  const write = (): void => {
    while (!response.destroyed) {
      onSent(piece.length);
      if (!response.write(piece)) return;
    }
  };
  response.on('drain', write).on('error', () => undefined);
  write();
}

/**
 * The handshake of a legacy (2025-11-25) MCP server with sessions in front of the given script, which sees the requests
 * of an open session only. `forget` drops all sessions; what an unknown session is answered is up to `unknownSession`.
 */
export function legacyServer(
  script: Script,
  unknownSession: (response: ServerResponse) => void = (response) => void response.writeHead(404).end(),
): { script: Script; forget(): void } {
  const sessions = new Set<string>();
  let opened = 0;
  return {
    forget: () => sessions.clear(),
    script: (request, response) => {
      const { message, headers } = request;
      if (message.method === 'server/discover') {
        response.writeHead(400).end();
      } else if (message.method === 'initialize') {
        const session = `session-${++opened}`;
        sessions.add(session);
        const serverInfo = { name: 'scripted', version: '1' };
        const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
        sendJson(response, { jsonrpc: '2.0', id: message.id, result }, { 'mcp-session-id': session });
      } else if (!sessions.has(String(headers['mcp-session-id']))) {
        unknownSession(response);
      } else if (request.method === 'DELETE') {
        response.writeHead(200).end();
      } else if (message.id === undefined) {
        response.writeHead(202).end();
      } else {
        return script(request, response);
      }
      return undefined;
    },
  };
}

async function readMessage(request: IncomingMessage): Promise<RpcMessage> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as RpcMessage);
}
