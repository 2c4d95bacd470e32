import type { UpstreamAccess, UpstreamConnector } from '../../connections/upstream-kind.js';

/** What every kind of target has. */
interface TargetBase {
  connectionId: string;
  /** Changes whenever the connection is edited, so that no session outlives the credentials it was opened with. */
  revision: string;
  /** Longest time for one tool call, in milliseconds. */
  timeoutMs: number;
}

/** Everything that is needed to talk to one HTTP connection's upstream. */
export interface HttpTarget extends TargetBase {
  kind?: 'http';
  /** Shares sockets with other organizations. */
  organizationId: string;
  /** The MCP endpoint, `http` or `https`. */
  url: string;
  /** The connection's stored headers, decrypted. */
  headers: Readonly<Record<string, string>>;
  /** Sent as `Authorization: Bearer …`, unless `headers` holds an `Authorization` of its own. */
  bearerToken?: string;
}

/** Everything that is needed to run one STDIO connection's program. */
export interface StdioTarget extends TargetBase {
  kind: 'stdio';
  organizationId: string;
  command: string;
  args: readonly string[];
  /** The connection's stored variables, decrypted; they come on top of the few that every program gets. */
  env: Readonly<Record<string, string>>;
  /** An absolute path. */
  cwd: string;
}

/** Everything that is needed to reach the upstream of a connection whose type a module has added. */
export interface CustomTarget extends TargetBase {
  kind: 'custom';
  type: string;
  connector: UpstreamConnector;
  access: UpstreamAccess;
}

/** Where and how a connection's upstream is called. It holds decrypted secrets: never log it. */
export type UpstreamTarget = HttpTarget | StdioTarget | CustomTarget;
