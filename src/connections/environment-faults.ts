/** One fault of a STDIO connection's environment. The message is a sentence; it never holds a value. */
export interface EnvironmentFault {
  /** The variable at fault, null when it is all of them together. */
  name: string | null;
  message: string;
}

const MAX_VARIABLES = 64;
/** Names and values together, in bytes. */
const MAX_TOTAL_BYTES = 64 * 1024;

/** POSIX.1-2024 §8.1, lower case included. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Uses of variables that a caller's program needs to reach its own service: what it is to be known by, and where. */
const OF_CREDENTIALS = /(?:^|_)(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD|USERNAME|EMAIL|ID|REGION)$/;

/** Where programs look for others and for their configuration, and what shells run. */
const OF_THE_SYSTEM =
  'PATH HOME SHELL USER LOGNAME BASH_ENV ENV IFS ZDOTDIR PROMPT_COMMAND SHELLOPTS BASHOPTS GCONV_PATH OPENSSL_CONF ' +
  'GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH EDITOR VISUAL PAGER BROWSER';

/** What makes language runtimes load code or take options. */
const OF_RUNTIMES =
  'NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_CHANNEL_FD ELECTRON_RUN_AS_NODE PYTHONPATH PYTHONHOME ' +
  'PYTHONSTARTUP PYTHONUSERBASE PYTHONBREAKPOINT RUBYOPT RUBYLIB PERL5OPT PERL5LIB PERL5DB PERLLIB PHPRC ' +
  'PHP_INI_SCAN_DIR LUA_INIT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH DOTNET_STARTUP_HOOKS';

/** Of the dynamic loader, of package runners (`npx`, `uvx`, …), and shell functions that bash would import. */
const FORBIDDEN_PREFIXES =
  'LD_ DYLD_ NPM_ PNPM_ YARN_ BUN_ DENO_ UV_ PIP_ PIPX_ COREPACK_ XDG_CONFIG_ BASH_FUNC_ GIT_CONFIG'.split(' ');

const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(`${OF_THE_SYSTEM} ${OF_RUNTIMES}`.split(' '));

/** Which variables STDIO connections can set. */
export interface VariableRule {
  /** Has the operator chosen the commands? Then a caller can set no variable by default but those of credentials. */
  readonly isRestricted: boolean;
  /** Names that the operator allows, or their beginnings followed by `*`. */
  readonly allowed: readonly string[];
}

/**
 * Can STDIO connections set this variable? What the operator allows, they can. By default, where the operator has chosen the
 * commands, these are the variables that hold credentials and identifiers, by their names in capitals: a list of what is
 * dangerous would never be complete, since every program reads variables of its own (`GIT_EXTERNAL_DIFF`, `LESSOPEN`, …).
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
 * May a STDIO connection not set this variable? Those that decide which code a program runs or where it fetches code: where
 * an operator allows one command only, they would make another program of it. Case does not matter, as npm has it.
 */
export function isForbiddenVariable(name: string): boolean {
  const upper = name.toUpperCase();
  return FORBIDDEN_NAMES.has(upper) || FORBIDDEN_PREFIXES.some((prefix) => upper.startsWith(prefix));
}

const NOT_SETTABLE =
  'This service does not let connections set the variable; STDIO_ENV_ALLOW lists those that it does.';

/** Everything that is wrong with the environment of a STDIO connection (`stdio.env`); an empty list when nothing is. */
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
    faults.push({ name: null, message: `The variables are larger than ${MAX_TOTAL_BYTES} bytes together.` });
  }
  return faults;
}

function faultOf(name: string, value: string, rule: VariableRule): string | undefined {
  if (!NAME.test(name)) return 'The name is not one of letters, digits and underscores.';
  if (!isSettable(name, rule)) return NOT_SETTABLE;
  if (value.includes('\0')) return 'The value holds a NUL character.';
  return undefined;
}
