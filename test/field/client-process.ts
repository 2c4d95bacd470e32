import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import type { Place } from './field-client.js';

/** Longer than any client takes, shorter than the time of a test. */
const TIMEOUT_MS = 90_000;

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs a client to its end, in a process group of its own, with nothing of this process's environment but `PATH`.
 * Clients can have put files of their own into the working directory, which is their home.
 */
export async function runToEnd(
  command: string,
  args: readonly string[],
  { home }: Place,
  env: Record<string, string> = {},
): Promise<Outcome> {
  const child = spawn(command, args, {
    cwd: home,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, HOME: home, NO_COLOR: '1', ...env },
  });
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), TIMEOUT_MS);
  const [[code], stdout, stderr] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  clearTimeout(timer);
  return { code: code as number | null, stdout, stderr };
}

/** The same for a client that has to succeed. @throws with what it printed, if it does not */
export async function runClient(...run: Parameters<typeof runToEnd>): Promise<Outcome> {
  const outcome = await runToEnd(...run);
  if (outcome.code !== 0) throw new Error(`${run[0]} ended with ${outcome.code}: ${outcome.stdout}${outcome.stderr}`);
  return outcome;
}
