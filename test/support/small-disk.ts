import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own with little room. */
export interface SmallDisk {
  readonly folder: string;
  /** Takes all the room that is left. */
  fill(): void;
  /** Gives that room back. */
  clear(): void;
  freeBytes(): number;
  close(): void;
}

/**
 * Mounts a file system in memory. Undefined where mounting is not permitted: it needs root (with CAP_SYS_ADMIN in a
 * container).
 */
export function mountSmallDisk(mebibytes: number): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-disk-'));
  // The account that runs PostgreSQL must be able to enter the folder.
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'signalbox-test', folder]);
  if (mounted.status !== 0) {
    rmdirSync(folder);
    return undefined;
  }
  const filler = join(folder, 'filler');
  return {
    folder,
    fill: () => takeAll(filler),
    clear: () => rmSync(filler, { force: true }),
    freeBytes: () => {
      const { bavail, bsize } = statfsSync(folder);
      return bavail * bsize;
    },
    close: () => {
      spawnSync('umount', ['-l', folder]);
      rmdirSync(folder);
    },
  };
}

function takeAll(path: string): void {
  const file = openSync(path, 'a');
  const bytes = Buffer.alloc(1024 * 1024);
  for (let size = bytes.length; size > 0;) {
    try {
      writeSync(file, bytes, 0, size);
    } catch {
      size = Math.floor(size / 2);
    }
  }
  closeSync(file);
}
