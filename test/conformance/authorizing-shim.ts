import { once } from 'node:events';
import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';

export interface AuthorizingShim {
  /** The address that stands for the target. */
  url: string;
  close(): Promise<void>;
}

/**
 * A door in front of a protected MCP endpoint for clients that send no credential, as the conformance suites do. It
 * adds `Authorization` and changes nothing else: `Host` goes on as the client sent it, bodies are streamed both ways,
 * and who hangs up on one side is heard on the other.
 */
export async function startAuthorizingShim(target: string, apiKey: string): Promise<AuthorizingShim> {
  const { hostname, port, pathname } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, outgoing) => {
    const { method, headers } = incoming;
    const authorized = { ...headers, authorization: `Bearer ${apiKey}` };
    const forwarded = send({ hostname, port, path: pathname, method, headers: authorized, agent });
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
