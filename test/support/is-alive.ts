/** True while a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It belongs to another account.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
