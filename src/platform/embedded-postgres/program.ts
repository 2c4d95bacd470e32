import { execFile } from 'node:child_process';

/** The account that runs PostgreSQL when this process is root. */
export interface SystemUser {
  name: string;
  uid: number;
  gid: number;
}

/** The variables that child programs inherit. The others may hold secrets, and `PG*` would reconfigure PostgreSQL. */
const INHERITED_VARIABLES = ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];

/** Spawn options: run as `user` (undefined: this process's user), in a folder that every user can enter. */
export function programOptions(user: SystemUser | undefined) {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of INHERITED_VARIABLES) {
    if (process.env[name] !== undefined) env[name] = process.env[name];
  }
  return { env, cwd: '/', ...(user && { uid: user.uid, gid: user.gid }) };
}

/** Runs a short program to completion. Never rejects: if the program cannot start, `output` holds the reason. */
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

/** The line of a program's output, or of the server's log, that best explains the failure. */
export function failureReason(output: string): string {
  const marked = /(?:PANIC|FATAL|error):\s+(\S.*)/.exec(output)?.[1];
  return (marked ?? output.trim().split('\n').at(-1) ?? '').replace(/\.$/, '') || 'no reason given';
}
