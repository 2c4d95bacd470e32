import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { COMPILED } from '../support/service-process.js';
import { type Check, type Checks, readChecks } from './run-suite.js';

const ENTRY = fileURLToPath(new URL('../../node_modules/mcp-conformance-modern/dist/index.js', import.meta.url));
const DRIVER = fileURLToPath(new URL('./client-driver.mjs', import.meta.url));
/** For all scenarios of a revision, and for a client, which waits until those of the other scenarios are done. */
export const SUITE_TIMEOUT_MS = 240_000;
const CLIENT_TIMEOUT_MS = 200_000;
/** `  - auth/pre-registration [2025-11-25,2026-07-28]` */
const LISTED = /^ {2}- (auth\/\S+) \[(\S+)\]$/gm;
/** The suites of the program that have the `auth` scenarios of a revision. `draft` has other scenarios too. */
const SUITES_OF: Readonly<Record<string, readonly string[]>> = {
  '2025-03-26': ['backcompat'],
  '2025-06-18': ['auth'],
  '2025-11-25': ['auth'],
  '2026-07-28': ['auth', 'draft'],
  extension: ['extensions'],
};
/** The name of a scenario, in the folder of its results. */
const RESULT_FOLDER = /^(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

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
  /** Why the client gave up; undefined if it did not. */
  readonly clientError: string | undefined;
}

/** What the scenarios of a revision observed, by their names. */
export interface ClientSuiteResult {
  readonly results: ReadonlyMap<string, ClientScenarioResult>;
  /** What the suite wrote, for the message of a test whose scenario is missing. */
  readonly output: string;
}

/** The `auth` scenarios of the suite, with the protocol revisions at which each one applies; `extension` for none. */
export async function listAuthScenarios(): Promise<Record<string, string[]>> {
  const { stdout } = await promisify(execFile)(process.execPath, [ENTRY, 'list', '--client']);
  return Object.fromEntries(
    [...stdout.matchAll(LISTED)].map(([, name = '', revisions = '']) => [name, revisions.split(',')]),
  );
}

type Client = (task: ClientTask) => Promise<void>;

/**
 * Runs all `auth` scenarios of a revision: a program for each of them would take most of the time. `client` does the
 * client's part, and rejects if the client fails. It is called for one scenario after another.
 */
export async function runClientScenarios(revision: string, client: Client): Promise<ClientSuiteResult> {
  const at = revision === 'extension' ? [] : ['--spec-version', revision];
  const results = new Map<string, ClientScenarioResult>();
  const outputs: string[] = [];
  for (const suite of SUITES_OF[revision] ?? []) {
    const ended = await run(['--suite', suite, ...at], client);
    for (const [scenario, result] of ended.results) results.set(scenario, result);
    outputs.push(ended.output);
  }
  return { results, output: outputs.join('\n') };
}

/** Runs one scenario at a protocol revision. */
export async function runClientScenario(
  scenario: string,
  revision: string,
  client: Client,
): Promise<ClientScenarioResult> {
  const { results, output } = await run(['--scenario', scenario, '--spec-version', revision], client);
  const result = results.get(scenario);
  if (result === undefined) throw new Error(`${scenario} left no results: ${output}`);
  return result;
}

async function run(args: readonly string[], client: Client): Promise<ClientSuiteResult> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-conformance-'));
  const tasks = await serveTasks(client);
  try {
    const command = `${process.execPath} ${DRIVER} ${tasks.address}`;
    const limit = ['--timeout', String(CLIENT_TIMEOUT_MS)];
    const child = spawn(process.execPath, [ENTRY, 'client', '--command', command, '-o', folder, ...limit, ...args], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILED },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: SUITE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const [output, [, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    if (signal !== null) throw new Error(`The suite was not done within ${SUITE_TIMEOUT_MS} ms: ${output}`);
    // The results are in a folder below `auth`, because the names of the scenarios contain a slash.
    const checks = await readChecks(join(folder, 'auth'), (name) => `auth/${RESULT_FOLDER.exec(name)?.[1] ?? name}`);
    const results = new Map<string, ClientScenarioResult>();
    for (const [name, check] of checks) {
      const scenario = name.slice(0, name.indexOf(' / '));
      const known = (results.get(scenario)?.checks ?? new Map()) as Map<string, Check>;
      results.set(scenario, { checks: known.set(name, check), clientError: tasks.errors.get(scenario) });
    }
    return { results, output };
  } finally {
    tasks.close();
    await rm(folder, { recursive: true });
  }
}

/** Where the driver asks for the client's part. */
async function serveTasks(client: Client) {
  const errors = new Map<string, string>();
  let last: Promise<void> = Promise.resolve();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const task = (await json(request)) as ClientTask;
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    try {
      if (task.scenario.startsWith('auth/')) await client(task);
    } catch (error) {
      errors.set(task.scenario, String(error));
      response.statusCode = 500;
    }
    response.end(errors.get(task.scenario));
    resolve();
  };
  const tasks = createServer((request, response) => void answer(request, response));
  await once(tasks.listen(0, '127.0.0.1'), 'listening');
  return {
    address: `http://127.0.0.1:${(tasks.address() as AddressInfo).port}`,
    errors,
    close: () => {
      tasks.closeAllConnections();
      tasks.close();
    },
  };
}
