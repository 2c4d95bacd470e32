/** Through which endpoint a tool was invoked. */
export const ENTRY_POINTS = ['proxy', 'legacy', 'call_tool', 'gateway', 'self', 'run'] as const;
export type EntryPoint = (typeof ENTRY_POINTS)[number];

/** How an invocation ended. `denied`: it was refused before anything was sent upstream. */
export const AUDIT_STATUSES = ['success', 'error', 'denied'] as const;
export type AuditStatus = (typeof AUDIT_STATUSES)[number];

/** What is known of an invocation when it begins. Never credentials. */
export interface InvocationFacts {
  readonly organizationId: string;
  readonly entryPoint: EntryPoint;
  /** Null for the management tools of `self`. */
  readonly connectionId: string | null;
  readonly agentId: string | null;
  /** As the caller sent it; at most 256 characters are kept. */
  readonly toolName: string;
  /** Null for a caller without a credential, who called a public tool. */
  readonly userId: string | null;
  readonly apiKeyId: string | null;
  readonly runId: string | null;
  readonly requestId: string;
  /** Was it allowed because the tool is public? */
  readonly public: boolean;
  /** Present exactly if the organization has what its calls carry recorded; it is redacted where it is written. */
  readonly content?: { readonly arguments: unknown } | undefined;
}

export interface InvocationOutcome {
  readonly status: AuditStatus;
  /** A stable snake_case word (`ErrorCode`); null for a success. */
  readonly errorCode: string | null;
  readonly durationMs: number;
  /** What the tool, or the upstream in its place, answered; undefined if it did not, or with more than was gathered. */
  readonly result?: unknown;
}
