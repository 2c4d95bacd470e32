import { ConfigError, type EnvReader } from './env-reader.js';

/** Variables for the user, the locale, the time zone and temporary files. */
const INHERITED = ['HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * Validates one entry of `STDIO_COMMANDS`: a bare name, looked up on the PATH, or an absolute path. A relative path
 * would depend on the working directory, which a caller chooses.
 * @throws ConfigError
 */
export function toStdioCommand(text: string): string {
  const isBare = /^[\w.+-]+$/.test(text) && !/^\.+$/.test(text);
  if (isBare || (text.startsWith('/') && !text.split('/').includes('..'))) return text;
  throw new ConfigError('STDIO_COMMANDS must be bare command names or absolute paths, separated by commas.');
}

/** Validates one entry of `STDIO_ENV_ALLOW`: a variable name, a prefix followed by `*`, or `*`. @throws ConfigError */
export function toVariablePattern(text: string): string {
  if (/^(?:[A-Za-z_][A-Za-z0-9_]*)?\*?$/.test(text)) return text;
  throw new ConfigError('STDIO_ENV_ALLOW must be variable names or prefixes such as APP_*, separated by commas.');
}

/** Variables of the service whose values are secret, or contain secrets. */
const OF_THE_SERVICE =
  /^(?:ENCRYPTION_KEYS|DATABASE_URL|REDIS_URL|REDIS_SENTINEL_PASSWORD|BOOTSTRAP_API_KEY|BOOTSTRAP_OWNER_PASSWORD|OIDC_CLIENT_SECRET|SMTP_URL|FILES_S3_URL|OTEL_.*)$/;

/**
 * Validates one entry of `STDIO_ENV_PASS`: a variable name that is not one of the service's secrets.
 * @throws ConfigError
 */
function toPassedVariable(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new ConfigError('STDIO_ENV_PASS must be variable names such as HTTPS_PROXY, separated by commas.');
  }
  if (OF_THE_SERVICE.test(name)) throw new ConfigError(`STDIO_ENV_PASS must not contain ${name}, which holds secrets.`);
  return name;
}

/**
 * The variables that programs of STDIO connections inherit from this process: a fixed few, and those that the operator
 * names in `STDIO_ENV_PASS`. Contains no secret of the service.
 * @throws ConfigError
 */
export function readProgramEnvironment(read: EnvReader): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of [...INHERITED, ...read.list('STDIO_ENV_PASS', []).map(toPassedVariable)]) {
    const value = read.text(name);
    if (value !== undefined) environment[name] = value;
  }
  // Empty and relative entries depend on the working directory, which a caller chooses.
  const path = (read.text('PATH') ?? DEFAULT_PATH).split(':').filter((entry) => entry.startsWith('/'));
  return { ...environment, PATH: path.join(':') };
}
