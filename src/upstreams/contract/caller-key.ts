/** In whose name the service itself asks an upstream: for its tools, its news, its state. */
export const SERVICE = 'service';

/** Who shares a quota: everything that one key does, and all callers without a credential together. */
export function keyOfCaller({ apiKeyId, userId }: { readonly apiKeyId?: string; readonly userId?: string }): string {
  return apiKeyId ?? userId ?? 'anonymous';
}
