/**
 * The floor: bare BullMQ on PostgreSQL with durable commits, and sockets in the same process. It stores the answer as
 * the value of the job, and keeps no stream.
 */
import { createPostgresBackend, Queue, Worker } from 'bullmq';
import { Pool } from 'pg';
import { wordsOf } from './model-client.mjs';
import { servePeer } from './peer-http.mjs';

const QUEUE = 'peer';
const readers = new Map();
const connect = () =>
  new Pool({ connectionString: process.env.DATABASE_URL, options: '-c search_path=bullmq', keepAlive: true, max: 6 });

const queue = new Queue(QUEUE, { connection: connect() }, createPostgresBackend);
const worker = new Worker(
  QUEUE,
  async ({ id, data: { question } }) => {
    const words = [];
    for await (const word of wordsOf(question)) {
      readers.get(id)?.word(words.length, word);
      words.push(word);
    }
    readers.get(id)?.end();
    readers.delete(id);
    return words.join('');
  },
  { connection: connect(), concurrency: 100 },
  createPostgresBackend,
);
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);

servePeer({
  async start(run, question, reader) {
    readers.set(run, reader);
    await queue.add('run', { question }, { jobId: run });
    reader.accept();
  },
  async follow(run, _after, reader) {
    const job = await queue.getJob(run);
    if (job?.returnvalue) reader.end();
    else readers.set(run, reader);
  },
  async answers(run) {
    const job = await queue.getJob(run);
    return job?.returnvalue ? [job.returnvalue] : [];
  },
});
