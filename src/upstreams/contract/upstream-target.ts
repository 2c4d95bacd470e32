import type { AccountAccess } from '../../connections/upstream-oauth/tokens/upstream-accounts.js';
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
