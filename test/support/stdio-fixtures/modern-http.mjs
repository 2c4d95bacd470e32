// Serves a handler of the SDK for the modern era over HTTP.
import { createServer } from 'node:http';

/** Listens on a free port, and prints it. @param handler of `createMcpHandler` */
export function listenModern(handler) {
  const server = createServer((request, response) => void answer(handler, request, response));
  server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
}

async function answer(handler, request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { method, headers } = request;
  const gone = new AbortController();
  response.once('close', () => response.writableFinished || gone.abort());
  const body = method === 'POST' ? { body: Buffer.concat(chunks) } : {};
  const sent = new Request(`http://127.0.0.1${request.url}`, { method, headers, signal: gone.signal, ...body });
  const answered = await handler.fetch(sent);
  if (response.destroyed) return;
  response.writeHead(answered.status, [...answered.headers].flat());
  for await (const chunk of answered.body ?? []) response.write(chunk);
  response.end();
}
