/**
 * The peer: bare BullMQ and a bare socket in one process. `POST /<thread>` adds a job and answers 202 when it is in the
 * queue. The worker writes the chunks of an answer and `[DONE]` to the sockets that `GET /<thread>` keeps open. It has
 * no authentication, no validation, no storage, no live buffer, and no model: the minimal cost of a run.
 */
import { createServer } from 'node:http';
import { createPostgresBackend, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { ANSWER_CHUNKS } from './answer.mjs';

const QUEUE = 'peer';
const CONCURRENCY = 50;
/** As long as those of the service. */
const CHUNKS = Array.from(
  { length: ANSWER_CHUNKS },
  (_, i) => `id: ${i}\ndata: ${JSON.stringify({ type: 'text-delta', id: '1', delta: `word${i} ` })}\n\n`,
);
const DONE = 'data: [DONE]\n\n';

const { PEER_DATABASE_URL: databaseUrl, PEER_REDIS_URL: redisUrl } = process.env;
const onRedis = redisUrl !== undefined;
const readers = new Map();

/** Uses the same connection options as the service. */
function connect() {
  if (onRedis) return new Redis(redisUrl, { maxRetriesPerRequest: null });
  return new Pool({
    connectionString: databaseUrl,
    options: '-c search_path=bullmq -c synchronous_commit=off',
    keepAlive: true,
    max: 6,
  });
}

const backend = onRedis ? [] : [createPostgresBackend];
const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
const queue = new Queue(QUEUE, { connection: connect(), defaultJobOptions }, ...backend);
const worker = new Worker(
  QUEUE,
  async ({ data: { thread } }) => {
    for (const reader of readers.get(thread) ?? []) {
      for (const chunk of CHUNKS) reader.write(chunk);
      reader.write(DONE);
    }
  },
  { connection: connect(), concurrency: CONCURRENCY },
  ...backend,
);

const server = createServer(async (request, response) => {
  const thread = request.url.slice(1);
  if (request.method === 'GET') {
    const own = readers.get(thread) ?? new Set();
    readers.set(thread, own.add(response));
    response.once('close', () => own.delete(response) && own.size === 0 && readers.delete(thread));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    return;
  }
  JSON.parse((await request.toArray()).join(''));
  const job = await queue.add('attempt', { thread });
  response.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify({ taskId: job.id }));
});

await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
server.listen(0, '127.0.0.1', () => console.log(`peer on http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => process.exit(0));
