/**
 * The peer of the proxy benchmark: a minimal proxy with keys, on Fastify and undici. It looks up the key and its tools in a
 * map, parses the body once for the tool's name, forwards the bytes, and pipes the answer. It has no database, no schema
 * validation, no audit log, no telemetry, no sessions, and no error handling.
 * `node proxy-bare.mjs <upstream url> <upstream session> <connection id> <key>`; prints `listening on <origin>`.
 */
import Fastify from 'fastify';
import { Pool } from 'undici';

const [upstreamUrl, session, connectionId, key] = process.argv.slice(2);
const upstream = new URL(upstreamUrl);
const pool = new Pool(upstream.origin, { connections: 128 });
const grants = new Map([[`Bearer ${key}`, new Map([[connectionId, new Set(['echo'])]])]]);
const connections = new Map([
  [connectionId, { path: upstream.pathname, headers: { 'mcp-session-id': session, authorization: 'Bearer upstream' } }],
]);

const app = Fastify({ logger: false });
app.removeAllContentTypeParsers();
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post('/api/default/mcp/:connectionId', async (request, reply) => {
  const tools = grants.get(request.headers.authorization)?.get(request.params.connectionId);
  if (tools === undefined) return reply.code(401).send();
  const { method, params } = JSON.parse(request.body);
  if (method === 'tools/call' && !tools.has(params.name)) return reply.code(403).send();
  const { path, headers } = connections.get(request.params.connectionId);
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
