import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PS_TIMEOUT_MS = 2_000;
/** How many files are read at once, because a program can have any number of processes. */
const READERS = 16;

interface GroupUsage {
  /** Resident memory; shared memory is counted for each process. */
  bytes: number;
  processes: number;
}

/** The usage of process groups by id, from `/proc` on Linux and `ps` elsewhere. Groups that have ended are absent. */
export function groupUsage(groups: ReadonlySet<number>): Promise<Map<number, GroupUsage>> {
  return process.platform === 'linux' ? fromProc(groups) : fromPs(groups);
}

async function fromProc(groups: ReadonlySet<number>): Promise<Map<number, GroupUsage>> {
  const usages = new Map<number, GroupUsage>();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).values();
  const readEach = async (): Promise<void> => {
    for (const pid of pids) {
      const group = groupIn(await textOf(`/proc/${pid}/stat`));
      if (group === undefined || !groups.has(group)) continue;
      const status = await textOf(`/proc/${pid}/status`);
      add(usages, group, Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0));
    }
  };
  await Promise.all(Array.from({ length: READERS }, readEach));
  return usages;
}

/** proc_pid_stat(5): the fifth field. The second one, in parentheses, can contain spaces and parentheses. */
function groupIn(stat: string): number | undefined {
  const group = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2];
  return group === undefined ? undefined : Number(group);
}

async function fromPs(groups: ReadonlySet<number>): Promise<Map<number, GroupUsage>> {
  const usages = new Map<number, GroupUsage>();
  const { stdout } = await run('/bin/ps', ['-A', '-o', 'pgid=,rss='], { timeout: PS_TIMEOUT_MS, env: {} });
  for (const line of stdout.split('\n')) {
    const [group, kibibytes] = line.trim().split(/\s+/).map(Number);
    if (group !== undefined && kibibytes !== undefined && groups.has(group)) add(usages, group, kibibytes);
  }
  return usages;
}

function add(usages: Map<number, GroupUsage>, group: number, kibibytes: number): void {
  const { bytes, processes } = usages.get(group) ?? { bytes: 0, processes: 0 };
  usages.set(group, { bytes: bytes + kibibytes * 1024, processes: processes + 1 });
}

/** A process can end before its file is read. */
function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
