import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Checks, readChecks } from './run-suite.js';

const ENTRY = fileURLToPath(new URL('../../node_modules/mcp-conformance-modern/dist/index.js', import.meta.url));
const DRIVER = fileURLToPath(new URL('./client-driver.mjs', import.meta.url));
/** For a scenario, and for the client in it. */
export const SCENARIO_TIMEOUT_MS = 120_000;
const CLIENT_TIMEOUT_MS = 100_000;
/** `  - auth/pre-registration [2025-11-25,2026-07-28]` */
const LISTED = /^ {2}- (auth\/\S+) \[(\S+)\]$/gm;

/** What the suite tells its client. */
export interface ClientTask {
  readonly scenario: string;
  /** The MCP endpoint. */
  readonly url: string;
  /** What a person would set up, such as `client_id`. */
  readonly context: Readonly<Record<string, unknown>>;
}

/** What a scenario observed. */
interface ClientScenarioResult {
  readonly checks: Checks;
  /** The suite's own verdict: every check passes, and the client has not failed where it must succeed. */
  readonly passes: boolean;
  /** What the suite wrote, for the message of a failing test. */
  readonly output: string;
}

/** The `auth` scenarios of the suite, with the protocol revisions at which each one applies; `extension` for none. */
export async function listAuthScenarios(): Promise<Record<string, string[]>> {
  const { stdout } = await promisify(execFile)(process.execPath, [ENTRY, 'list', '--client']);
  return Object.fromEntries(
    [...stdout.matchAll(LISTED)].map(([, name = '', revisions = '']) => [name, revisions.split(',')]),
  );
}

/** Runs one scenario at a protocol revision. `client` does the client's part, and rejects if the client fails. */
export async function runClientScenario(
  name: string,
  revision: string,
  client: (task: ClientTask) => Promise<void>,
): Promise<ClientScenarioResult> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-conformance-'));
  const tasks = createServer((request, response) => {
    void json(request)
      .then((task) => client({ ...(task as Omit<ClientTask, 'scenario'>), scenario: name }))
      .then(
        () => response.end(),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await once(tasks.listen(0, '127.0.0.1'), 'listening');
  try {
    const address = `http://127.0.0.1:${(tasks.address() as AddressInfo).port}`;
    const at = revision === 'extension' ? [] : ['--spec-version', revision];
    const command = `${process.execPath} ${DRIVER} ${address}`;
    const limit = ['--timeout', String(CLIENT_TIMEOUT_MS)];
    const args = [ENTRY, 'client', '--command', command, '--scenario', name, '-o', folder, ...limit, ...at];
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: SCENARIO_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const [output, [exitCode, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    if (signal !== null) throw new Error(`${name} was not done within ${SCENARIO_TIMEOUT_MS} ms.`);
    // The results are in a folder below `auth`, because the names of the scenarios contain a slash.
    return { checks: await readChecks(join(folder, 'auth'), () => name), passes: exitCode === 0, output };
  } finally {
    tasks.closeAllConnections();
    tasks.close();
    await rm(folder, { recursive: true });
  }
}
