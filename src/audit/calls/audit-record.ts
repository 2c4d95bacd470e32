/** The endpoint through which a tool was invoked. `self` and `api` are those of the management tools: MCP and HTTP. */
export const ENTRY_POINTS = ['proxy', 'legacy', 'call_tool', 'gateway', 'self', 'api', 'run'] as const;
export type EntryPoint = (typeof ENTRY_POINTS)[number];

/** The outcome of an invocation. `denied`: rejected before anything was sent upstream. */
export const AUDIT_STATUSES = ['success', 'error', 'denied'] as const;
export type AuditStatus = (typeof AUDIT_STATUSES)[number];

/** The facts known at the start of an invocation. Contains no credentials. */
export interface InvocationFacts {
  readonly organizationId: string;
  readonly entryPoint: EntryPoint;
  /** Null for management tools. */
  readonly connectionId: string | null;
  readonly agentId: string | null;
  /** As the caller sent it, cut to 256 characters when recorded. */
  readonly toolName: string;
  /** Null for an anonymous call of a public tool. */
  readonly userId: string | null;
  readonly apiKeyId: string | null;
  readonly runId: string | null;
  readonly requestId: string;
  /** Whether the call was allowed because the tool is public. */
  readonly public: boolean;
  /** Present only if the organization records arguments and results. Redacted when written. */
  readonly content?: { readonly arguments: unknown } | undefined;
}

export interface InvocationOutcome {
  readonly status: AuditStatus;
  /** A stable snake_case code (`ErrorCode`); null on success. */
  readonly errorCode: string | null;
  readonly durationMs: number;
  /**
   * The result from the tool or the upstream; undefined if there is none, it exceeds the capture limit, or it is not to
   * be recorded.
   */
  readonly result?: unknown;
}
