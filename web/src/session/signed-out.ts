const listeners = new Set<() => void>();

/**
 * Calls the listener when a request was refused because the caller is no longer signed in. Returns a function that
 * stops that.
 */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Says that a request was refused because the caller is no longer signed in. */
export function reportSignedOut(): void {
  for (const listener of listeners) listener();
}
