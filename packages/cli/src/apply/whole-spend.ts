import type { Entry } from './manifest.js';

const NO_LIMIT = { usd_per_day: null, usd_per_month: null };

/** The entry for an update: the service keeps the members of a spending limit that are absent; the manifest has all. */
export function withWholeSpend(entry: Entry): Entry {
  const { spend } = entry;
  return typeof spend === 'object' && spend !== null ? { ...entry, spend: { ...NO_LIMIT, ...spend } } : entry;
}
