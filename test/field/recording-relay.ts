import { createServer, type IncomingHttpHeaders, request as send } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { listenOnLoopback } from '../../src/boot/testing/loopback-server.js';
import type { RpcMessage } from '../support/scripted-upstream.js';

/** A JSON-RPC message that a client sent. */
export interface RecordedMessage {
  headers: IncomingHttpHeaders;
  message: RpcMessage;
}

/** What is between a client and a server, and lets everything through as it is. */
export interface RecordingRelay {
  readonly origin: string;
  /** The messages of clients since the last `clear`. */
  readonly messages: readonly RecordedMessage[];
  clear(): void;
  close(): Promise<void>;
}

/**
 * Starts a relay on a free loopback port.
 *
 * @param target the origin of the server
 * @param credential the only value of `Authorization` that gets through; without it, every request does
 */
export async function startRecordingRelay(target: string, credential?: string): Promise<RecordingRelay> {
  const { hostname, port } = new URL(target);
  const messages: RecordedMessage[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    if (credential !== undefined && headers.authorization !== credential) {
      outgoing.writeHead(401).end();
      return;
    }
    const forwarded = send({ hostname, port, path, method, headers, agent: false });
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      if (text.startsWith('{')) messages.push({ headers, message: JSON.parse(text) as RpcMessage });
    });
    forwarded.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders);
      outgoing.flushHeaders();
      // A body that breaks off on one side breaks off on the other.
      pipeline(response, outgoing).catch(() => outgoing.destroy());
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  const { origin, close } = await listenOnLoopback(server);
  return { origin, messages, clear: () => void messages.splice(0), close };
}
