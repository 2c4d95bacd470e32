import { randomUUID } from 'node:crypto';
import { readFileSync, realpathSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postmasterEndsWithin } from '../../platform/embedded-postgres/postmaster.js';

/** The server kills its processes after five seconds. */
const END_WITHIN_MS = 10_000;

/** The folders of this process that still exist. */
const folders = new Set<TemporaryDataFolder>();

/**
 * The `DATA_DIR` of one test application. Its PostgreSQL outlives the process that started it, so the folder and the
 * server are also removed if the process ends without closing the application. After a SIGKILL both remain.
 */
export class TemporaryDataFolder {
  /** The embedded PostgreSQL creates it with the permissions that it needs. */
  readonly path = join(tmpdir(), `signalbox-test-app-${randomUUID()}`);

  private cluster: string | undefined;

  constructor() {
    if (folders.size === 0) watchProcess();
    folders.add(this);
  }

  /**
   * Shuts the server down without a checkpoint, because its data is deleted anyway. Returns the id of its process;
   * undefined if it is not running.
   */
  endServer(): number | undefined {
    try {
      const pid = Number.parseInt(readFileSync(join(this.path, 'postgres', 'postmaster.pid'), 'utf8'), 10);
      // Another number names a group of processes, or no process.
      if (!(pid > 0)) return undefined;
      process.kill(pid, 'SIGQUIT');
      return pid;
    } catch {
      return undefined;
    }
  }

  /** Stops the server if it is still running, and deletes the folder. */
  async remove(): Promise<void> {
    const [pid, paths] = [this.endServer(), this.findPaths()];
    // Until the server has ended, its processes write files.
    if (pid !== undefined) await postmasterEndsWithin(pid, paths[0] ?? this.path, END_WITHIN_MS);
    await Promise.all(paths.map((path) => rm(path, REMOVAL)));
    folders.delete(this);
    if (folders.size === 0) unwatchProcess();
  }

  /** Does the same synchronously, for the end of the process. */
  removeNow(): void {
    this.endServer();
    for (const path of this.findPaths()) rmSync(path, REMOVAL);
    folders.delete(this);
  }

  /**
   * The folder and the cluster. If PostgreSQL's user cannot access the folder, the cluster is a link to another folder.
   */
  private findPaths(): string[] {
    this.cluster ??= realPathOf(join(this.path, 'postgres'));
    return this.cluster === undefined ? [this.path] : [this.cluster, this.path];
  }
}

/** Retries, because at the end of the process, which cannot wait, the server can still write files briefly. */
const REMOVAL = { recursive: true, force: true, maxRetries: 5 };
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function watchProcess(): void {
  process.once('exit', removeAll);
  for (const signal of SIGNALS) process.once(signal, endBySignal);
}

function unwatchProcess(): void {
  process.removeListener('exit', removeAll);
  for (const signal of SIGNALS) process.removeListener(signal, endBySignal);
}

function removeAll(): void {
  for (const folder of folders) folder.removeNow();
}

function endBySignal(signal: NodeJS.Signals): void {
  // Another listener decides when the process ends.
  if (process.listenerCount(signal) > 0) return;
  removeAll();
  process.kill(process.pid, signal);
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
