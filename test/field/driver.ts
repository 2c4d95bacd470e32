import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Outcome, runClient } from './client-process.js';
import type { Findings, Place } from './field-client.js';

/**
 * Runs a program of `drivers`, which makes use of a library, in the folder where the library is installed.
 *
 * @param task what the program finds in `FIELD_TASK`
 * @returns what it printed, and the findings in the last line of that
 */
export async function runDriver(
  name: string,
  place: Place,
  task: object,
): Promise<{ outcome: Outcome; findings: Findings }> {
  const program = join(place.installed, `${name}.mjs`);
  await copyFile(fileURLToPath(new URL(`drivers/${name}.mjs`, import.meta.url)), program);
  const outcome = await runClient(process.execPath, [program], place, { FIELD_TASK: JSON.stringify(task) });
  return { outcome, findings: JSON.parse(outcome.stdout.trim().split('\n').at(-1) ?? '') as Findings };
}
