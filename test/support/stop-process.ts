import { readFileSync } from 'node:fs';

/**
 * Stops a process and its children with SIGSTOP: their connections stay open, and the kernel accepts new ones, but
 * nobody answers. Returns the function that lets them continue.
 * @param pid a server with one process for each connection, such as PostgreSQL's, or with one process
 */
export function stopProcess(pid: number): () => void {
  // First the one that starts the others.
  process.kill(pid, 'SIGSTOP');
  const stopped = [pid, ...childrenOf(pid)];
  const signal = (name: NodeJS.Signals): void => {
    for (const one of stopped) {
      try {
        process.kill(one, name);
      } catch {
        // It has ended.
      }
    }
  };
  signal('SIGSTOP');
  return () => signal('SIGCONT');
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
