/** The caller of a tool. */
export interface ToolCaller {
  /** The person for whom the call is made; absent for a key of the organization and for a caller without a credential. */
  readonly userId?: string | null;
  readonly apiKeyId?: string | null;
  /** The key whose quotas the caller uses, if that is not its own (`quotaHolderOf`). */
  readonly quotaKeyId?: string;
  readonly runId?: string;
  /** The network of a caller without a credential. */
  readonly address?: string;
  /** Sent upstream as `x-request-id`. */
  readonly requestId: string;
}

/** The caller of the service's own requests, such as listing tools. */
export const SERVICE = 'service';

/** The key of a caller's quota: one for each API key, one for each person, and one for all callers without a credential. */
export function keyOfCaller({
  quotaKeyId,
  apiKeyId,
  userId,
}: Pick<ToolCaller, 'quotaKeyId' | 'apiKeyId' | 'userId'>): string {
  return quotaKeyId ?? apiKeyId ?? userId ?? 'anonymous';
}
