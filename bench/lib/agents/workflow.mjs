/**
 * Workflow DevKit on PostgreSQL: a workflow of one step, which writes the words to the stream of the run. The queue of
 * the database calls the compiled handlers over HTTP. A table has the run of each request.
 */
import { createRequire } from 'node:module';
import { servePeer } from './peer-http.mjs';

/** As many as the pool, with two connections left over. */
const RUNS_AT_A_TIME = 50;
const HANDLERS = '/.well-known/workflow/v1';

// The packages look for each other from the working directory.
process.chdir(process.env.PEER_FOLDER);
const require = createRequire(`${process.env.PEER_FOLDER}/package.json`);
Object.assign(process.env, {
  WORKFLOW_TARGET_WORLD: '@workflow/world-postgres',
  WORKFLOW_POSTGRES_URL: process.env.DATABASE_URL,
  WORKFLOW_POSTGRES_WORKER_CONCURRENCY: String(RUNS_AT_A_TIME),
  WORKFLOW_POSTGRES_MAX_POOL_SIZE: String(RUNS_AT_A_TIME + 2),
  WORKFLOW_LOCAL_BASE_URL: `http://127.0.0.1:${process.env.PORT}`,
});
const { getRun, start } = require('workflow/api');
const { getWorld } = require('workflow/runtime');
const { workflows } = require(`.${HANDLERS}/manifest.json`);
const { workflowId } = workflows['workflows/answer.mjs'].answer;
const { Pool } = require('pg');

const database = new Pool({ connectionString: process.env.DATABASE_URL, max: 5 });
await database.query('CREATE TABLE IF NOT EXISTS runs_of_requests (request uuid PRIMARY KEY, run text NOT NULL)');

async function runOf(request) {
  const { rows } = await database.query('SELECT run FROM runs_of_requests WHERE request = $1', [request]);
  return rows[0] && getRun(rows[0].run);
}

async function read(run, after, reader) {
  let index = after + 1;
  for await (const word of run.getReadable({ startIndex: index })) reader.word(index++, word);
  reader.end();
}

servePeer({
  async start(request, question, reader) {
    const run = await start({ workflowId }, [question]);
    await database.query('INSERT INTO runs_of_requests VALUES ($1, $2)', [request, run.runId]);
    reader.accept();
    await read(run, -1, reader);
  },
  async follow(request, after, reader) {
    const run = await runOf(request);
    if (run === undefined) reader.lose();
    else await read(run, after, reader);
  },
  async answers(request) {
    const run = await runOf(request);
    return (await run?.status) === 'completed' ? [await run.returnValue] : [];
  },
  handlers: {
    [`${HANDLERS}/flow`]: require(`.${HANDLERS}/flow.js`).POST,
    [`${HANDLERS}/step`]: require(`.${HANDLERS}/step.js`).POST,
  },
});
await (await getWorld()).start?.();
