import { dirname } from 'node:path';
import { Program } from '../support/program.js';

/**
 * How this machine reaches the registry, as far as the environment tells it: the certificates it trusts, its proxy, and
 * the configuration that npm cannot find by itself when another Node.js than its own comes first in `PATH`.
 */
const REGISTRY_ACCESS =
  /^(NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(HTTPS?|NO)_PROXY|npm_config_(cafile|registry|cache|(global|user)config))$/i;
/** Longer than any of the commands takes, shorter than the time that Jest gives a suite. */
const TIMEOUT_MS = 400_000;

/**
 * Starts npm outside the repository, in a process group of its own: npm does not pass signals on to what it starts.
 *
 * @param env all variables of the environment beside `PATH`, `HOME` and those that lead to the registry
 */
export function startNpm(cwd: string, args: readonly string[], env: Record<string, string> = {}): Program {
  const access = Object.entries(process.env).filter(([name]) => REGISTRY_ACCESS.test(name));
  return new Program('npm', args, {
    cwd,
    detached: true,
    env: {
      ...Object.fromEntries(access),
      // The required version of Node.js comes first in PATH.
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: process.env['HOME'],
      ...env,
    },
  });
}

/**
 * What the command prints.
 *
 * @throws Error when it fails, or does not end: it is killed then, so that it cannot outlive the suite
 */
export async function npm(cwd: string, args: readonly string[], env?: Record<string, string>): Promise<string> {
  const program = startNpm(cwd, args, env);
  const timer = setTimeout(() => process.kill(-program.pid, 'SIGKILL'), TIMEOUT_MS);
  const end = await program.exit();
  clearTimeout(timer);
  if (end !== 0) throw new Error(`npm ${args.join(' ')} ended with ${end}: ${program.output}`);
  return program.output;
}

/** Ends what `startNpm` has started, with all that it has started. */
export async function stopNpm(program: Program): Promise<void> {
  if (!program.hasEnded) process.kill(-program.pid, 'SIGTERM');
  await program.exit();
}
