import { useSyncExternalStore } from 'react';

/** Statuses with which a proxy says that the service behind it does not answer. */
const OF_PROXIES = new Set([502, 503, 504]);

let isAway = false;
const listeners = new Set<() => void>();

/** True if the service did not answer the last request. */
export function isServiceAway(): boolean {
  return isAway;
}

export function useServiceAway(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, isServiceAway);
}

/** `fetch`, which notes whether the service answers. @throws Error that says so if it does not */
export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init);
    // The service itself answers with JSON.
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    note(OF_PROXIES.has(response.status) && !isJson);
    return response;
  } catch (error) {
    if (init?.signal?.aborted === true) throw error;
    note(true);
    throw new Error('The service cannot be reached.', { cause: error });
  }
};

function note(away: boolean): void {
  if (away === isAway) return;
  isAway = away;
  for (const listener of listeners) listener();
}
