/**
 * The peer of the proxy benchmark: a minimal proxy with keys, on Fastify and undici. It looks up the key and its tools
 * in a map, parses the body once for the tool's name, forwards the bytes, and pipes the answer, JSON or an event
 * stream. It has no database, no schema validation, no audit log, no telemetry, no sessions, and no error handling.
 * `node proxy-bare.mjs <JSON of { key, tools, certificate?, connections: [{ id, url, session? }] }>`; prints
 * `listening on <origin>`. `certificate` is the file of a certificate to trust.
 */
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { Pool } from 'undici';

const { key, tools: names, certificate, connections: given } = JSON.parse(process.argv[2]);
const connect = certificate === undefined ? undefined : { ca: readFileSync(certificate) };
const grants = new Map([[`Bearer ${key}`, new Map(given.map(({ id }) => [id, new Set(names)]))]]);
const connections = new Map(
  given.map(({ id, url, session }) => {
    const { origin, pathname } = new URL(url);
    const headers = { ...(session && { 'mcp-session-id': session }), authorization: 'Bearer upstream' };
    return [id, { pool: new Pool(origin, { connections: 128, connect }), path: pathname, headers }];
  }),
);

const app = Fastify({ logger: false });
app.removeAllContentTypeParsers();
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post('/api/default/mcp/:connectionId', async (request, reply) => {
  const tools = grants.get(request.headers.authorization)?.get(request.params.connectionId);
  if (tools === undefined) return reply.code(401).send();
  const { method, params } = JSON.parse(request.body);
  if (method === 'tools/call' && !tools.has(params.name)) return reply.code(403).send();
  const { pool, path, headers } = connections.get(request.params.connectionId);
  const answer = await pool.request({
    method: 'POST',
    path,
    headers: {
      ...headers,
      accept: request.headers.accept,
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
    },
    body: request.body,
  });
  reply.code(answer.statusCode).header('content-type', answer.headers['content-type']);
  if (answer.headers['content-length'] !== undefined) reply.header('content-length', answer.headers['content-length']);
  return reply.send(answer.body);
});

console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
process.once('SIGTERM', () => process.exit(0));
