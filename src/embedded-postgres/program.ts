import { execFile } from 'node:child_process';

/** The account that PostgreSQL runs as when this process is root. */
export interface SystemUser {
  name: string;
  uid: number;
  gid: number;
}

/** What a program needs of our environment. The rest stays here: it may hold secrets, and `PG*` would change PostgreSQL. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];

/** How to start a program: as `user` (undefined: as ourselves), in a folder that every user can enter. */
export function programOptions(user: SystemUser | undefined) {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of PASSED_ON) {
    if (process.env[name] !== undefined) env[name] = process.env[name];
  }
  return { env, cwd: '/', ...(user && { uid: user.uid, gid: user.gid }) };
}

/** Runs a short program to its end. Never rejects: when it cannot be started, `output` says why. */
export function runProgram(
  file: string,
  args: readonly string[],
  user?: SystemUser,
): Promise<{ succeeded: boolean; output: string }> {
  return new Promise((resolve) => {
    execFile(file, args, programOptions(user), (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim();
      resolve({ succeeded: error === null, output: output || (error?.message ?? '') });
    });
  });
}

/** The line of a program's output, or of the server's log, that tells best why it failed. */
export function failureReason(output: string): string {
  const marked = /(?:PANIC|FATAL|error):\s+(\S.*)/.exec(output)?.[1];
  return (marked ?? output.trim().split('\n').at(-1) ?? '').replace(/\.$/, '') || 'it gave no reason';
}
