import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/embedded-postgres.js';
import { hasPython } from '../support/python.js';
import { COMPILED } from '../support/service-process.js';
import { Terminal } from '../support/terminal.js';
import { eventually } from '../support/eventually.js';

const TEST_MS = 240_000;
const GONE_MS = 30_000;
const OWN_NODE = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url));
/** npm on the Node.js of the machine, which can be older, and on the one of the checkout. */
const NPMS = { 'of the machine': withoutOwnNode(), 'of the checkout': `${OWN_NODE}:${process.env['PATH']}` };

const KEY = generateApiKey();

/** The services of all tests use it, one after another: making a database takes longer than the rest of a start. */
let dataDir: string;
/** `TMPDIR` of the commands, in the data folder. */
let temporary: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'signalbox-terminal-'));
  temporary = join(dataDir, 'temporary');
  await mkdir(temporary);
  if (process.getuid?.() === 0) await chmod(dataDir, 0o711); // for the user that PostgreSQL runs as
});

afterEach(async () => {
  for (const pid of await processesOf(dataDir)) process.kill(pid, 'SIGKILL');
});

afterAll(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));

/** A terminal with processes that can be recognized by the data folder in their environment or their arguments. */
function open(command: readonly string[], env: Record<string, string> = {}): Terminal {
  return new Terminal(command, {
    DATA_DIR: dataDir,
    BOOTSTRAP_API_KEY: KEY,
    // The demo makes its data folder there.
    TMPDIR: temporary,
    PORT: '0',
    METRICS_PORT: 'off',
    NODE_COMPILE_CACHE: COMPILED,
    ...env,
  });
}

/** Starts a run that does not end soon. Returns the id of its thread. */
async function startRun(terminal: Terminal): Promise<string> {
  const [, url = ''] = await terminal.printed(/listens on (\S+)[^]*export API_KEY=/);
  const post = (path: string, body: object): supertest.Test =>
    supertest(url).post(`/api/default/${path}`).set('authorization', `Bearer ${KEY}`).send(body);
  const agent = await post('tools/COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200);
  const thread = { id: randomUUID(), title: 'Thread', virtual_mcp_id: agent.body.item.id };
  await post('tools/COLLECTION_THREADS_CREATE', { data: thread }).expect(200);
  const messages = [{ role: 'user', parts: [{ type: 'text', text: '/wait 120000' }] }];
  const agentOfRun = { id: thread.virtual_mcp_id };
  await post(`agent-runtime/threads/${thread.id}/messages`, { messages, agent: agentOfRun }).expect(202);
  return thread.id;
}

/**
 * The run of a thread as the stopped service has left it in the database. Removes it: the next service would go on with
 * it.
 */
async function runLeft(threadId: string): Promise<unknown> {
  const server: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir });
  const client = new Client({ connectionString: server.url });
  try {
    await client.connect();
    const { rows } = await client.query(
      `SELECT heartbeat_at = '-infinity' AS released, yields FROM runs WHERE status = 'running' AND thread_id = $1`,
      [threadId],
    );
    await client.query('DELETE FROM threads WHERE id = $1', [threadId]);
    return rows[0];
  } finally {
    await client.end();
    await server.stop();
  }
}

/** Another attempt can begin at once. */
const HANDED_OVER = { released: true, yields: 1 };

/**
 * The processes whose environment or arguments contain the text.
 * @param others those that are known not to be meant; those that are seen are added
 */
async function processesOf(text: string, others = new Set([process.pid])): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    if (others.has(pid)) continue;
    const files = [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`];
    const contents = await Promise.all(files.map((file) => readFile(file, 'latin1').catch(() => '')));
    if (contents.some((content) => content.includes(text))) found.push(pid);
    else others.add(pid);
  }
  return found;
}

async function expectNothingLeft(): Promise<void> {
  const others = new Set([process.pid]);
  await eventually(async () => {
    const left = await processesOf(dataDir, others);
    const commands = left.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''));
    expect(await Promise.all(commands)).toEqual([]);
  }, GONE_MS);
}

function withoutOwnNode(): string {
  return (process.env['PATH'] ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':');
}

(hasPython && process.platform === 'linux' ? describe : describe.skip)('in a terminal', () => {
  it.each<[end: string, npm: keyof typeof NPMS, processes: string, code: number, act: (terminal: Terminal) => void]>([
    ['Ctrl-C', 'of the machine', '1', 0, (terminal) => terminal.pressCtrlC()],
    ['Ctrl-C', 'of the checkout', '1', 0, (terminal) => terminal.pressCtrlC()],
    ['Ctrl-C', 'of the checkout', '2', 0, (terminal) => terminal.pressCtrlC()],
    ['SIGTERM to the group', 'of the machine', '1', 0, (terminal) => terminal.signalGroup('SIGTERM')],
    // npm does not wait for its script.
    ['the end of the terminal', 'of the checkout', '1', 129, (terminal) => terminal.close()],
    ['the end of the terminal', 'of the checkout', '2', 129, (terminal) => terminal.close()],
  ])(
    'npm start: %s (npm %s, %s service processes) hands the runs over and leaves nothing behind',
    async (_end, npm, processes, code, act) => {
      const terminal = open(['npm', 'start'], { PATH: NPMS[npm], PROCESSES: processes, SHUTDOWN_GRACE_MS: '100' });
      const threadId = await startRun(terminal);
      act(terminal);
      expect(await terminal.exit()).toBe(code);
      await expectNothingLeft();
      expect(await runLeft(threadId)).toEqual(HANDED_OVER);
    },
    TEST_MS,
  );

  it.each(['1', '2'])(
    'npm start: Ctrl-C twice, apart, ends %s service processes at once, with the database',
    async (processes) => {
      const terminal = open(['npm', 'start'], { PROCESSES: processes, SHUTDOWN_GRACE_MS: '8000' });
      const threadId = await startRun(terminal);
      terminal.pressCtrlC();
      await terminal.printed(/The service is stopping/);
      // What comes within two seconds belongs to the first.
      await sleep(3_000);
      terminal.pressCtrlC();
      expect(await terminal.exit()).toBe(130);
      expect(terminal.output).not.toContain('The service has stopped');
      await expectNothingLeft();
      expect(await runLeft(threadId)).toEqual({ released: false, yields: 0 });
    },
    TEST_MS,
  );

  it.each([
    ['Ctrl-C', (terminal: Terminal) => terminal.pressCtrlC()],
    ['the end of the terminal', (terminal: Terminal) => terminal.close()],
  ])(
    'npm run demo: %s leaves nothing behind',
    async (_end, act) => {
      const terminal = open(['npm', 'run', 'demo']);
      await terminal.printed(/Signalbox +http/);
      act(terminal);
      await terminal.exit();
      await expectNothingLeft();
      // Not npm's cache.
      expect((await readdir(temporary)).filter((name) => name.startsWith('signalbox'))).toEqual([]);
    },
    TEST_MS,
  );

  it(
    'npx signalbox start: Ctrl-C leaves nothing behind',
    async () => {
      const terminal = open(['npx', 'signalbox', 'start']);
      await terminal.printed(/listens on /);
      terminal.pressCtrlC();
      await terminal.exit();
      expect(terminal.output).toContain('The service has stopped');
      await expectNothingLeft();
    },
    TEST_MS,
  );

  it.each([
    ['while it compiles', /TSC|SWC/],
    ['while it serves', /listens on /],
  ])(
    'npm run start:dev: Ctrl-C %s leaves nothing behind',
    async (_moment, printed) => {
      const terminal = open(['npm', 'run', 'start:dev']);
      await terminal.printed(printed);
      terminal.pressCtrlC();
      await terminal.exit();
      await expectNothingLeft();
    },
    TEST_MS,
  );
});
