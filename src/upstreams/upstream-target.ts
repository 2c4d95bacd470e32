/** Everything that is needed to talk to one HTTP connection's upstream. It holds decrypted secrets: never log it. */
export interface UpstreamTarget {
  connectionId: string;
  /** Changes whenever the connection is edited, so that no session outlives the credentials it was opened with. */
  revision: string;
  /** The MCP endpoint, `http` or `https`. */
  url: string;
  /** The connection's stored headers, decrypted. */
  headers: Readonly<Record<string, string>>;
  /** Sent as `Authorization: Bearer …`, unless `headers` holds an `Authorization` of its own. */
  bearerToken?: string;
  /** Longest time for one tool call, in milliseconds. */
  timeoutMs: number;
}
