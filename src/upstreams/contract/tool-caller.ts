/** The caller of a tool. */
export interface ToolCaller {
  /** Absent for a caller without a credential. */
  readonly userId?: string;
  readonly apiKeyId?: string;
  readonly runId?: string;
  /** Sent upstream as `x-request-id`. */
  readonly requestId: string;
}

/** The caller of the service's own requests, such as listing tools. */
export const SERVICE = 'service';

/** The key of a caller's quota: one for each API key, and one for all callers without a credential. */
export function keyOfCaller({ apiKeyId, userId }: { readonly apiKeyId?: string; readonly userId?: string }): string {
  return apiKeyId ?? userId ?? 'anonymous';
}
