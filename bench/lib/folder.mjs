import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new temporary folder. The embedded server can run as another user, who needs to traverse it. */
export async function makeFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  await chmod(folder, 0o711);
  return folder;
}

/** A temporary folder of a benchmark, with the targets that it starts. */
export async function openWorkplace() {
  const folder = await makeFolder();
  const started = [];
  return {
    folder,
    async subfolder(name) {
      const path = join(folder, name);
      await mkdir(path, { mode: 0o711 });
      return path;
    },
    /** Registers a target, or its promise, to be stopped at the end. */
    async keep(starting) {
      const target = await starting;
      started.push(target);
      return target;
    },
    /** Stops the targets, the last first. */
    async stop() {
      for (const target of started.splice(0).toReversed()) await target.stop();
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
