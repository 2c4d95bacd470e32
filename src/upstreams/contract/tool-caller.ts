/** On whose behalf a tool is called. */
export interface ToolCaller {
  /** Absent for a caller without a credential. */
  readonly userId?: string;
  readonly apiKeyId?: string;
  readonly runId?: string;
  /** Sent upstream as `x-request-id`. */
  readonly requestId: string;
}

/** In whose name the service itself asks an upstream: for its tools, its news, its state. */
export const SERVICE = 'service';

/** Who shares a quota: everything that one key does, and all callers without a credential together. */
export function keyOfCaller({ apiKeyId, userId }: { readonly apiKeyId?: string; readonly userId?: string }): string {
  return apiKeyId ?? userId ?? 'anonymous';
}
