import { DomainError } from '../core/domain-error.js';
import type { ConnectionRateLimit } from '../core/limits.js';

/** How a connection reaches its tools: `HTTP`, `STDIO`, `VIRTUAL`, or the name of a class with `@UpstreamKind`. */
export type ConnectionType = string;

/** The built-in types. `VIRTUAL` is an agent: it has the same id and is composed of other connections. */
export const OWN_TYPES: ReadonlySet<ConnectionType> = new Set(['HTTP', 'STDIO', 'VIRTUAL']);

/** All types that this process has loaded. `UpstreamKinds` has those that the application offers. */
export const CONNECTION_TYPES: ConnectionType[] = [...OWN_TYPES];

/** The types that callers create as connections; agents are created with their own tool. */
export const CREATABLE_TYPES: ConnectionType[] = ['HTTP', 'STDIO'];

/**
 * `inactive`: switched off by a person, calls are refused. `error`: the last check failed, calls are still attempted.
 */
export const CONNECTION_STATUSES = ['active', 'inactive', 'error'] as const;
export type ConnectionStatus = (typeof CONNECTION_STATUSES)[number];

/** The statuses that a person can set; only checks set `error`. */
export const SETTABLE_STATUSES = ['active', 'inactive'] as const satisfies readonly ConnectionStatus[];
export type SettableStatus = (typeof SETTABLE_STATUSES)[number];

/** Whether unauthenticated callers can call a tool that its upstream marks as public. */
export const PUBLIC_TOOLS_RULES = ['honor', 'ignore'] as const;
export type PublicToolsRule = (typeof PUBLIC_TOOLS_RULES)[number];

/**
 * What happens to tools whose definition nobody has approved. `off`: nothing, definitions are not compared. `warn`:
 * they are marked and recorded. `block`: they are neither listed nor called.
 */
export const PIN_RULES = ['off', 'warn', 'block'] as const;
export type PinRule = (typeof PIN_RULES)[number];

/**
 * How the service authenticates to an upstream. `none`: not at all, or with stored headers. `token`: with
 * `connection_token`. `oauth`: with access tokens that the upstream's authorization server issues after a person has
 * agreed. `enterprise`: with those that it issues because the issuer of the person's sign-in asserts who they are.
 * `client_credentials`: with those that it issues to a client for itself, without a person.
 */
export const AUTH_TYPES = ['none', 'token', 'oauth', 'enterprise', 'client_credentials'] as const;
export type AuthType = (typeof AUTH_TYPES)[number];

/** Whose account at the upstream is used: one for the connection, or that of the person for whom a call is made. */
export const AUTH_ACCOUNTS = ['connection', 'member'] as const;
export type AuthAccount = (typeof AUTH_ACCOUNTS)[number];

/** What a client that acts for itself authenticates with at the authorization server. */
export type MachineCredential = 'client_secret' | 'private_key';

/** The stored settings of a connection whose upstream demands OAuth, without the client secret. */
export interface OauthSettings {
  /** Present if `OIDC_ISSUER` asserts people to the upstream's authorization server. Then `account` is `member`. */
  readonly isEnterprise?: true;
  /**
   * Present if the account is that of the client itself: what is stored as its secret. Then `account` is `connection`.
   */
  readonly machine?: MachineCredential;
  readonly account: AuthAccount;
  /** Scopes to request, separated by spaces; null: those that the upstream asks for. */
  readonly scope: string | null;
  /** A client that was set up at the authorization server; null: the service registers one. */
  readonly clientId: string | null;
}

/** Minimum, maximum and default time limit of one tool call, in milliseconds. */
export const MIN_TIMEOUT_MS = 1000;
export const MAX_TIMEOUT_MS = 3_600_000;
export const DEFAULT_TIMEOUT_MS = 300_000;

/** Per organization, including agents. */
export const MAX_CONNECTIONS = { max: 5000, what: 'connections and agents' };

/** A connection as other modules see it. Its secrets stay sealed; `ConnectionSecrets` opens them. */
export interface Connection {
  readonly id: string;
  readonly organizationId: string;
  readonly organizationSlug: string;
  readonly type: ConnectionType;
  readonly title: string;
  readonly status: ConnectionStatus;
  /** Null for STDIO and VIRTUAL, and for types of other modules that require no URL. */
  readonly url: string | null;
  /** Null unless the upstream is called with OAuth tokens. */
  readonly oauth: OauthSettings | null;
  /**
   * The person whose account at the upstream is used; absent for the account of the connection. See `connectionFor`.
   */
  readonly accountUserId?: string;
  /** Null for all types except STDIO. */
  readonly stdio: StdioProgram | null;
  readonly timeoutMs: number;
  readonly publicTools: PublicToolsRule;
  /** Of its tool calls; null: no limit. */
  readonly rateLimit: ConnectionRateLimit | null;
  /** True if callers share one session with the upstream, although the upstream keeps state in it. */
  readonly sharedState: boolean;
  /** True if the organization records the arguments and results of its calls. */
  readonly auditContent: boolean;
  readonly pin: PinRule;
  /** Increases with every change of which definitions of its tools are approved. */
  readonly pinEpoch: number;
  /** Increases with every change of where and how the upstream is called. */
  readonly revision: number;
  readonly sealed: SealedCredentials;
}

/** Vault envelopes; null if nothing is stored. */
export interface SealedCredentials {
  readonly token: string | null;
  readonly headers: string | null;
  readonly stdioEnv: string | null;
  readonly oauthClientSecret: string | null;
}

/**
 * The program that a STDIO connection runs on the server, without a shell. Its environment is secret and sealed
 * separately.
 */
export interface StdioProgram {
  /** One of `STDIO_COMMANDS`, exactly as written there. */
  readonly command: string;
  readonly args: readonly string[];
  /** An absolute path; null means `/`. */
  readonly cwd: string | null;
}

/** The credentials sent upstream. Decrypted: never log them or put them into a response. */
export interface ConnectionCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly bearerToken?: string;
}

/** True if a caller can open a session with the upstream. For types of other modules, the service opens them. */
export function hasOwnSessions({ type }: Pick<Connection, 'type'>): boolean {
  return type === 'HTTP' || type === 'STDIO';
}

/** True if the account of each person at the upstream is that of the sign-in with the issuer. */
export function isEnterprise({ oauth }: Pick<Connection, 'oauth'>): boolean {
  return oauth?.isEnterprise === true;
}

/** True if the account at the upstream is that of the connection's client, without a person. */
export function isMachine({ oauth }: Pick<Connection, 'oauth'>): boolean {
  return oauth?.machine !== undefined;
}

/** A connection in status `error` passes, so that it can recover. @throws DomainError `connection_unavailable` */
export function requireActive({ status }: Pick<Connection, 'status'>): void {
  if (status === 'inactive') throw new DomainError('connection_unavailable', 'The connection is inactive.');
}

export function unknownConnection(): DomainError {
  return new DomainError('not_found', 'There is no connection with this id in the organization.');
}

/** By connection object, which is cached for less than a second: the same object again keeps what is cached by it. */
const ofMembers = new WeakMap<Connection, Map<string, Connection>>();

/** True if each person uses an own account at the upstream. */
export function hasMemberAccounts({ oauth }: Pick<Connection, 'oauth'>): boolean {
  return oauth?.account === 'member';
}

/**
 * The connection as this person uses it: with the person's own account, if the connection has one for each member.
 * Everything that depends on the account (sessions with the upstream, tokens, lists of tools) is kept by the result. An
 * agent is bound to the person too, because its connections can have accounts of members.
 */
export function connectionFor(connection: Connection, userId: string | null | undefined): Connection {
  if (userId == null || connection.accountUserId === userId) return connection;
  if (connection.type !== 'VIRTUAL' && !hasMemberAccounts(connection)) return connection;
  let bound = ofMembers.get(connection);
  if (bound === undefined) {
    bound = new Map();
    ofMembers.set(connection, bound);
  }
  let own = bound.get(userId);
  if (own === undefined) {
    own = { ...connection, accountUserId: userId };
    bound.set(userId, own);
  }
  return own;
}

/** The key of what is kept for the account that the connection uses. */
export function accountKey({ id, accountUserId }: Pick<Connection, 'id' | 'accountUserId'>): string {
  return accountUserId === undefined ? id : `${id}/${accountUserId}`;
}
