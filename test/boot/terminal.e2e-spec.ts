import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import supertest from 'supertest';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/embedded-postgres.js';
import { hasPython } from '../support/python.js';
import { Terminal } from '../support/terminal.js';
import { eventually } from '../support/eventually.js';

const TEST_MS = 240_000;
const GONE_MS = 30_000;
const OWN_NODE = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url));
/** npm on the Node.js of the machine, which can be older, and on the one of the checkout. */
const NPMS = { 'of the machine': withoutOwnNode(), 'of the checkout': `${OWN_NODE}:${process.env['PATH']}` };

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'signalbox-terminal-'));
  if (process.getuid?.() === 0) await chmod(dataDir, 0o711); // for the user that PostgreSQL runs as
});

afterEach(async () => {
  for (const pid of await processesOf(dataDir)) process.kill(pid, 'SIGKILL');
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

/** A terminal with processes that can be recognized by the data folder in their environment or their arguments. */
function open(command: readonly string[], env: Record<string, string> = {}): Terminal {
  // The demo makes its data folder in TMPDIR.
  return new Terminal(command, { DATA_DIR: dataDir, TMPDIR: dataDir, PORT: '0', METRICS_PORT: 'off', ...env });
}

/** Starts a run that does not end soon. */
async function startRun(terminal: Terminal): Promise<void> {
  const [, url = '', key = ''] = await terminal.printed(/listens on (\S+)[^]*export API_KEY=(sbx_\w+)/);
  const post = (path: string, body: object): supertest.Test =>
    supertest(url).post(`/api/default/${path}`).set('authorization', `Bearer ${key}`).send(body);
  const agent = await post('tools/COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'Agent' } }).expect(200);
  const thread = { id: 'thread', title: 'Thread', virtual_mcp_id: agent.body.item.id };
  await post('tools/COLLECTION_THREADS_CREATE', { data: thread }).expect(200);
  const messages = [{ role: 'user', parts: [{ type: 'text', text: '/wait 120000' }] }];
  await post('agent-runtime/threads/thread/messages', { messages, agent: { id: thread.virtual_mcp_id } }).expect(202);
}

/** The run as the stopped service has left it in the database. */
async function runLeft(): Promise<unknown> {
  const server: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir });
  const client = new Client({ connectionString: server.url });
  try {
    await client.connect();
    return (
      await client.query(`SELECT heartbeat_at = '-infinity' AS released, yields FROM runs WHERE status = 'running'`)
    ).rows[0];
  } finally {
    await client.end();
    await server.stop();
  }
}

/** Another attempt can begin at once. */
const HANDED_OVER = { released: true, yields: 1 };

/** The processes whose environment or arguments contain the text. */
async function processesOf(text: string): Promise<number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const named = await Promise.all(
    all.map(async (pid) => {
      const files = [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`];
      const contents = await Promise.all(files.map((file) => readFile(file, 'latin1').catch(() => '')));
      return contents.some((content) => content.includes(text));
    }),
  );
  return all.filter((pid, index) => named[index] && pid !== process.pid);
}

async function expectNothingLeft(): Promise<void> {
  await eventually(async () => {
    const left = await processesOf(dataDir);
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
  it.each<[end: string, npm: keyof typeof NPMS, code: number, act: (terminal: Terminal) => void]>([
    ['Ctrl-C', 'of the machine', 0, (terminal) => terminal.pressCtrlC()],
    ['Ctrl-C', 'of the checkout', 0, (terminal) => terminal.pressCtrlC()],
    ['SIGTERM to the group', 'of the machine', 0, (terminal) => terminal.signalGroup('SIGTERM')],
    // npm does not wait for its script.
    ['the end of the terminal', 'of the checkout', 129, (terminal) => terminal.close()],
  ])(
    'npm start: %s (npm %s) hands the runs over and leaves nothing behind',
    async (_end, npm, code, act) => {
      const terminal = open(['npm', 'start'], { PATH: NPMS[npm], SHUTDOWN_GRACE_MS: '100' });
      await startRun(terminal);
      act(terminal);
      expect(await terminal.exit()).toBe(code);
      await expectNothingLeft();
      expect(await runLeft()).toEqual(HANDED_OVER);
    },
    TEST_MS,
  );

  it(
    'npm start: Ctrl-C twice, apart, ends at once, with the database',
    async () => {
      const terminal = open(['npm', 'start'], { SHUTDOWN_GRACE_MS: '8000' });
      await startRun(terminal);
      terminal.pressCtrlC();
      await terminal.printed(/The service is stopping/);
      // What comes within two seconds belongs to the first.
      await sleep(3_000);
      terminal.pressCtrlC();
      expect(await terminal.exit()).toBe(130);
      expect(terminal.output).not.toContain('The service has stopped');
      await expectNothingLeft();
      expect(await runLeft()).toEqual({ released: false, yields: 0 });
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
      expect((await readdir(dataDir)).filter((name) => name.startsWith('signalbox'))).toEqual([]);
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
