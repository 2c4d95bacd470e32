import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout) || 100;

/** CPU seconds that all threads of the process have used so far; undefined on systems without /proc. */
export function cpuSeconds(pid) {
  return readStat(pid)?.cpuSeconds;
}

/** The same for a server that forks, including its current children, such as the sessions of PostgreSQL. */
export function familyCpuSeconds(pid) {
  const own = cpuSeconds(pid);
  if (own === undefined) return undefined;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(readStat)
    .reduce((sum, stat) => (stat?.parent === pid ? sum + stat.cpuSeconds : sum), own);
}

/**
 * CPU seconds of all processes of a service so far: the first one and its children (`PROCESSES`), without the embedded
 * database.
 */
export function serviceCpuSeconds(pid, databasePid) {
  const own = cpuSeconds(pid);
  return own === undefined ? undefined : familyCpuSeconds(pid) - (cpuSeconds(databasePid) ?? 0);
}

/** The resident memory of a process, in MiB. */
export function residentMebibytes(pid) {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}

function readStat(pid) {
  try {
    // proc_pid_stat(5): fields 3 and later follow the name in parentheses, which can contain any character. Field 4 is
    // the parent; fields 14 and 15 are utime and stime.
    const [, fields] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    const values = fields.split(' ');
    return { parent: Number(values[1]), cpuSeconds: (Number(values[11]) + Number(values[12])) / TICKS_PER_SECOND };
  } catch {
    return undefined;
  }
}
