/**
 * Sends a signal to every process of a group (POSIX `kill(2)` with a negative id). A group that is gone is left alone.
 * @param leader the id of the process that was started as its leader
 */
export function signalGroup(leader: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    // ESRCH: nobody is left. EPERM: on macOS the same, while the leader is not reaped yet.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
