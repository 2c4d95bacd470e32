import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PS_TIMEOUT_MS = 2_000;

/**
 * Resident memory of process groups, in bytes: group id → sum over its processes, memory that they share counted for each.
 * Linux tells by `/proc`; elsewhere `ps` does. Groups that are gone are absent.
 */
export function groupMemory(groups: ReadonlySet<number>): Promise<Map<number, number>> {
  return process.platform === 'linux' ? fromProc(groups) : fromPs(groups);
}

async function fromProc(groups: ReadonlySet<number>): Promise<Map<number, number>> {
  const sums = new Map<number, number>();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      const group = groupIn(await textOf(`/proc/${pid}/stat`));
      if (group === undefined || !groups.has(group)) return;
      const status = await textOf(`/proc/${pid}/status`);
      const kibibytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
      sums.set(group, (sums.get(group) ?? 0) + kibibytes * 1024);
    }),
  );
  return sums;
}

/** proc_pid_stat(5): the fifth field; the second one, in brackets, may hold blanks and brackets. */
function groupIn(stat: string): number | undefined {
  const group = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2];
  return group === undefined ? undefined : Number(group);
}

async function fromPs(groups: ReadonlySet<number>): Promise<Map<number, number>> {
  const sums = new Map<number, number>();
  const { stdout } = await run('/bin/ps', ['-A', '-o', 'pgid=,rss='], { timeout: PS_TIMEOUT_MS, env: {} });
  for (const line of stdout.split('\n')) {
    const [group, kibibytes] = line.trim().split(/\s+/).map(Number);
    if (group === undefined || kibibytes === undefined || !groups.has(group)) continue;
    sums.set(group, (sums.get(group) ?? 0) + kibibytes * 1024);
  }
  return sums;
}

/** A process may end between being seen and being read. */
function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
