const OPEN_REFRESH_MS = 4_000;

/** How often to read again what is in progress; undefined when it is over. */
export function refreshWhile(isInProgress: boolean): { readonly refreshMs?: number } {
  return isInProgress ? { refreshMs: OPEN_REFRESH_MS } : {};
}
