import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMPILED } from '../support/service-process.js';
import type { Suite } from './suites.js';

/** The outcome of one check. `INFO` lines of a suite's log are none. */
export interface Check {
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED';
  /** Why it did not succeed, and what the suite saw. */
  reason: string;
}

/** Checks by `scenario / id`, with ` #2` and so on where a scenario makes a check again. */
export type Checks = ReadonlyMap<string, Check>;

interface SavedCheck {
  id: string;
  status: Check['status'] | 'INFO';
  errorMessage?: string;
  details?: unknown;
}

const TIMEOUT_MS = 120_000;
/** How much of what a suite saw goes into a failing test's message, in characters. */
const MAX_DETAILS = 1000;
/** `server-<scenario>-<ISO time with dashes>`; `authorization-…` for authorization servers. */
const RESULT_FOLDER = /^(?:server|authorization)-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/;

/** Runs a conformance suite against an MCP server, in processes of its own; answers its checks. */
export async function runSuite({ entry, runs }: Suite, url: string): Promise<Checks> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-conformance-'));
  try {
    for (const args of runs) {
      const child = spawn(process.execPath, [entry, 'server', '--url', url, '-o', folder, ...args], {
        env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILED },
        stdio: 'ignore',
        timeout: TIMEOUT_MS,
        killSignal: 'SIGKILL',
      });
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      // The exit code only says whether some check failed; the comparison knows better.
      if (signal !== null) throw new Error(`The suite was not done within ${TIMEOUT_MS} ms.`);
    }
    return await readChecks(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @param scenarioOf the scenario of a folder of results */
export async function readChecks(
  folder: string,
  scenarioOf = (name: string): string => RESULT_FOLDER.exec(name)?.[1] ?? name,
): Promise<Checks> {
  const checks = new Map<string, Check>();
  for (const name of (await readdir(folder)).sort()) {
    const scenario = scenarioOf(name);
    const saved = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as SavedCheck[];
    for (const { id, status, errorMessage, details } of saved) {
      if (status === 'INFO') continue;
      const reason = `${errorMessage ?? ''} ${JSON.stringify(details)?.slice(0, MAX_DETAILS) ?? ''}`.trim();
      checks.set(unused(checks, `${scenario} / ${id}`), { status, reason });
    }
  }
  return checks;
}

function unused(checks: Checks, name: string): string {
  for (let count = 1; ; count += 1) {
    const candidate = count === 1 ? name : `${name} #${count}`;
    if (!checks.has(candidate)) return candidate;
  }
}
