/** How a connection reaches its tools: `HTTP`, `STDIO`, `VIRTUAL`, or the name of a class with `@UpstreamKind`. */
export type ConnectionType = string;

/** The types of the service. `VIRTUAL` is an agent: the same id, composed of other connections. */
export const OWN_TYPES: ReadonlySet<ConnectionType> = new Set(['HTTP', 'STDIO', 'VIRTUAL']);

/** All types that this process has loaded. What an application offers is in `UpstreamKinds`. */
export const CONNECTION_TYPES: ConnectionType[] = [...OWN_TYPES];

/** Those that are created as connections; an agent is created as what it is. */
export const CREATABLE_TYPES: ConnectionType[] = ['HTTP', 'STDIO'];

/** `inactive`: switched off by a person, calls are refused. `error`: the last check failed, calls are still tried. */
export const CONNECTION_STATUSES = ['active', 'inactive', 'error'] as const;
export type ConnectionStatus = (typeof CONNECTION_STATUSES)[number];

/** The statuses that a person sets; `error` is only ever found out. */
export const SETTABLE_STATUSES = ['active', 'inactive'] as const satisfies readonly ConnectionStatus[];
export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

/** Whether a tool that its upstream marks as public may be called without a credential. */
export const PUBLIC_TOOLS_RULES = ['honor', 'ignore'] as const;
export type PublicToolsRule = (typeof PUBLIC_TOOLS_RULES)[number];

/** Longest and default time for one tool call, in milliseconds. */
export const MIN_TIMEOUT_MS = 1000;
export const MAX_TIMEOUT_MS = 3_600_000;
export const DEFAULT_TIMEOUT_MS = 300_000;

/** Per organization, agents included. */
export const MAX_CONNECTIONS = { max: 5000, what: 'connections and agents' };

/** A connection as other modules see it. What is secret stays sealed; `ConnectionSecrets` opens it. */
export interface Connection {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationSlug: string;
  readonly type: ConnectionType;
  readonly title: string;
  readonly status: ConnectionStatus;
  /** Null for STDIO and VIRTUAL, and where a type of another module needs none. */
  readonly url: string | null;
  /** Null for everything but STDIO. */
  readonly stdio: StdioProgram | null;
  readonly timeoutMs: number;
  readonly publicTools: PublicToolsRule;
  /** Does the organization have the arguments and results of its calls recorded? */
  readonly auditContent: boolean;
  /** Grows with every change of where and how the upstream is called. */
  readonly revision: number;
  readonly sealed: SealedCredentials;
}

/** Vault envelopes; null where nothing is stored. */
export interface SealedCredentials {
  readonly token: string | null;
  readonly headers: string | null;
  readonly stdioEnv: string | null;
}

/** What a STDIO connection runs on the server, without a shell. Its environment is secret and kept apart, sealed. */
export interface StdioProgram {
  /** One of `STDIO_COMMANDS`, letter for letter. */
  readonly command: string;
  readonly args: readonly string[];
  /** An absolute path; null is `/`. */
  readonly cwd: string | null;
}

/** What is sent upstream. Decrypted: never log it, never put it into an answer. */
export interface ConnectionCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly bearerToken?: string;
}

/** Can a caller have a session of its own with the upstream? At types of other modules all callers share one. */
export function hasOwnSessions({ type }: Pick<Connection, 'type'>): boolean {
  return type === 'HTTP' || type === 'STDIO';
}
