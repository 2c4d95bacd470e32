import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new temporary folder. The embedded server can run as another user, who needs to traverse it. */
export async function makeFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  await chmod(folder, 0o711);
  return folder;
}
