import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from './is-alive.js';

const PREFIX = 'signalbox-test-';

/**
 * Makes the folder for the data of this run of the tests, several GB, and removes those of runs that were killed, which
 * would fill the disk. Its name has the id of the process that will remove it.
 */
export async function makeRunFolder(): Promise<string> {
  await removeAbandoned();
  const folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  // The account that runs PostgreSQL must be able to enter it.
  await chmod(folder, 0o755);
  return folder;
}

async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) {
      await removeRunFolder(join(tmpdir(), name));
    }
  }
}

/** Removes the folder of a run. What belongs to another account, or is still written to, stays. */
export async function removeRunFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }).catch((error: Error) => {
    process.stderr.write(`The data of a run of the tests stays in ${folder}: ${error.message}\n`);
  });
}
