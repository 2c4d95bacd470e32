/** One fault of a STDIO connection's environment. The message is a sentence and never contains a value. */
interface EnvironmentFault {
  /** The faulty variable; null when the fault concerns all variables together. */
  name: string | null;
  message: string;
}

const MAX_VARIABLES = 64;
/** Names and values of all variables, in bytes. */
const MAX_TOTAL_BYTES = 64 * 1024;

/** POSIX.1-2024 §8.1, lower case included. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Uses of variables that a caller's program needs to reach its own service: its identity and the address. */
const OF_CREDENTIALS = /(?:^|_)(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD|USERNAME|EMAIL|ID|REGION)$/;

/** Where programs look for other programs and for their configuration, and code that shells run. */
const OF_THE_SYSTEM =
  'PATH HOME SHELL USER LOGNAME BASH_ENV ENV IFS ZDOTDIR PROMPT_COMMAND SHELLOPTS BASHOPTS GCONV_PATH OPENSSL_CONF ' +
  'GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH EDITOR VISUAL PAGER BROWSER';

/** Variables that make language runtimes load code or accept options. */
const OF_RUNTIMES =
  'NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_CHANNEL_FD ELECTRON_RUN_AS_NODE PYTHONPATH PYTHONHOME ' +
  'PYTHONSTARTUP PYTHONUSERBASE PYTHONBREAKPOINT RUBYOPT RUBYLIB PERL5OPT PERL5LIB PERL5DB PERLLIB PHPRC ' +
  'PHP_INI_SCAN_DIR LUA_INIT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH DOTNET_STARTUP_HOOKS';

/**
 * Variables of the dynamic loader, of package runners (`npx`, `uvx`, …), and shell functions that bash would import.
 */
const FORBIDDEN_PREFIXES =
  'LD_ DYLD_ NPM_ PNPM_ YARN_ BUN_ DENO_ UV_ PIP_ PIPX_ COREPACK_ XDG_CONFIG_ BASH_FUNC_ GIT_CONFIG'.split(' ');

const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(`${OF_THE_SYSTEM} ${OF_RUNTIMES}`.split(' '));

/** The variables that STDIO connections can set. */
export interface VariableRule {
  /** True if the operator chose the commands. Callers can then set only variables for credentials by default. */
  readonly isRestricted: boolean;
  /** Names, or prefixes followed by `*`, that the operator allows. */
  readonly allowed: readonly string[];
}

/**
 * True if STDIO connections can set this variable. They can set those that the operator allows. By default, if the
 * operator has chosen the commands, they can set variables whose upper-case names mark credentials or identifiers. A
 * list of dangerous variables would never be complete, since every program reads variables of its own
 * (`GIT_EXTERNAL_DIFF`, `LESSOPEN`, …).
 */
export function isSettable(name: string, { isRestricted, allowed }: VariableRule): boolean {
  const isAllowed = allowed.some((entry) =>
    entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry,
  );
  return isAllowed || (!isForbiddenVariable(name) && (!isRestricted || isOfCredential(name)));
}

function isOfCredential(name: string): boolean {
  return name === name.toUpperCase() && OF_CREDENTIALS.test(name);
}

/**
 * True if this variable is closed to STDIO connections. It is if it decides which code a program runs or where it
 * fetches code: it would turn the one command that an operator allows into another program. Names are compared without
 * case, as npm does.
 */
export function isForbiddenVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return FORBIDDEN_NAMES.has(upper) || FORBIDDEN_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

const NOT_SETTABLE =
  'This service does not let connections set this variable; STDIO_ENV_ALLOW lists the allowed variables.';

/** All faults of the environment of a STDIO connection (`stdio.env`). */
export function environmentFaults(env: Readonly<Record<string, string>>, rule: VariableRule): EnvironmentFault[] {
  const faults: EnvironmentFault[] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(env)) {
    const message = faultOf(name, value, rule);
    if (message !== undefined) faults.push({ name, message });
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (Object.keys(env).length > MAX_VARIABLES) {
    faults.push({ name: null, message: `At most ${MAX_VARIABLES} variables can be stored.` });
  }
  if (bytes > MAX_TOTAL_BYTES) {
    faults.push({ name: null, message: `The variables exceed ${MAX_TOTAL_BYTES} bytes in total.` });
  }
  return faults;
}

function faultOf(name: string, value: string, rule: VariableRule): string | undefined {
  if (!NAME.test(name)) return 'The name must consist of letters, digits and underscores.';
  if (!isSettable(name, rule)) return NOT_SETTABLE;
  if (value.includes('\0')) return 'The value must not contain NUL characters.';
  return undefined;
}
