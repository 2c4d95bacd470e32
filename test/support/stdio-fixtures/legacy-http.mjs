// Serves servers of the SDK for the legacy era over streamable HTTP, one for each session.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

/**
 * Listens on a free port, and prints it.
 * @param newServer makes the server of a session
 * @param sessions the transports by session id; a session that is deleted from it is unknown
 * @param onUnknown called for each message in a session that is unknown
 * @param isDeaf refuses the stream of unsolicited messages
 */
export function listenLegacy(newServer, { sessions = new Map(), onUnknown = () => undefined, isDeaf = false } = {}) {
  async function answer(request, response) {
    const id = request.headers['mcp-session-id'];
    if (request.method === 'GET' && isDeaf) return void response.writeHead(405).end();
    let transport = sessions.get(id);
    if (id !== undefined && transport === undefined) {
      if (request.method === 'POST') onUnknown();
      return void response.writeHead(404).end();
    }
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (opened) => void sessions.set(opened, transport),
        onsessionclosed: (closed) => void sessions.delete(closed),
      });
      await newServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  }
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
}
