import { ConfigError, type EnvReader } from './env-reader.js';

/** Who runs it, in which language and zone, and where it may keep temporary files. */
const INHERITED = ['HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * One entry of `STDIO_COMMANDS`: a bare name, looked up on the PATH, or an absolute path. A relative path would be looked up
 * in a directory that a caller chooses.
 * @throws ConfigError
 */
export function toStdioCommand(text: string): string {
  const isBare = /^[\w.+-]+$/.test(text) && !/^\.+$/.test(text);
  if (isBare || (text.startsWith('/') && !text.split('/').includes('..'))) return text;
  throw new ConfigError('STDIO_COMMANDS must be bare command names or absolute paths, separated by commas.');
}

/** One entry of `STDIO_ENV_ALLOW`: a variable's name, its beginning followed by `*`, or `*` alone. @throws ConfigError */
export function toVariablePattern(text: string): string {
  if (/^(?:[A-Za-z_][A-Za-z0-9_]*)?\*?$/.test(text)) return text;
  throw new ConfigError('STDIO_ENV_ALLOW must be names of variables or beginnings such as APP_*, separated by commas.');
}

/** All that the programs of STDIO connections see of this process's environment. None of it is a secret of the service. */
export function readProgramEnvironment(read: EnvReader): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = read.text(name);
    if (value !== undefined) environment[name] = value;
  }
  // An empty or relative entry stands for the working directory, which a caller chooses.
  const path = (read.text('PATH') ?? DEFAULT_PATH).split(':').filter((entry) => entry.startsWith('/'));
  return { ...environment, PATH: path.join(':') };
}
