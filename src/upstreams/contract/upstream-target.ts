import type { DomainError } from '../../core/domain-error.js';
import type { UpstreamAccess, UpstreamConnector } from '../../connections/upstream-kind.js';

/** The members of every kind of target. */
interface TargetBase {
  connectionId: string;
  /** The member whose account is used; absent for the account of the connection. */
  accountUserId?: string | undefined;
  /** Changes when the connection is edited, so that a session ends with the credentials that it was opened with. */
  revision: string;
  /** Time limit of one tool call, in milliseconds. */
  timeoutMs: number;
  /** True if callers share one session, although the upstream keeps state in it. */
  sharesState?: boolean | undefined;
}

/**
 * The account at an upstream that demands OAuth. Its methods reject with DomainError, also if a person has to authorize
 * it.
 */
export interface AccountAccess {
  /** The access token to send; a promise only if it has to be read or refreshed. */
  token(): string | Promise<string>;
  /**
   * Another token, after the upstream answered 401 to this one.
   * @throws DomainError `upstream_authorization_required` if there is none
   */
  renew(refused: string): Promise<string>;
  /** The error for callers when the upstream refuses the renewed token too. */
  refused(token: string): DomainError;
  /**
   * The error for callers when the upstream demands these scopes, separated by spaces. Undefined if another log-in is
   * of no use, so that the answer is an ordinary refusal.
   */
  demandScope(scope: string): Promise<DomainError | undefined>;
}

/** Everything that is needed to call the upstream of one HTTP connection. */
export interface HttpTarget extends TargetBase {
  kind?: 'http';
  /** The organization that its sockets count towards. */
  organizationId: string;
  /** The MCP endpoint, `http` or `https`. */
  url: string;
  /** The connection's stored headers, decrypted. */
  headers: Readonly<Record<string, string>>;
  /** Sent as `Authorization: Bearer …`, unless `headers` contains `Authorization`. */
  bearerToken?: string;
  /** Replaces stored credentials in `Authorization`. */
  account?: AccountAccess;
}

/** Everything that is needed to run one STDIO connection's program. */
export interface StdioTarget extends TargetBase {
  kind: 'stdio';
  organizationId: string;
  command: string;
  args: readonly string[];
  /** The connection's stored variables, decrypted, in addition to those that every program gets. */
  env: Readonly<Record<string, string>>;
  /** An absolute path. */
  cwd: string;
}

/** How the upstream of a connection is called whose type a module has added. */
export interface CustomTarget extends TargetBase {
  kind: 'custom';
  type: string;
  connector: UpstreamConnector;
  access: UpstreamAccess;
}

/** How a connection's upstream is called. It contains decrypted secrets: never log it. */
export type UpstreamTarget = HttpTarget | StdioTarget | CustomTarget;
