/**
 * What the model calls of a subject can cost, in US dollars for each UTC day and month; an absent limit does not apply.
 */
export interface SpendLimit {
  readonly usd_per_day?: number;
  readonly usd_per_month?: number;
}

/** Limits of an organization; an absent one does not apply. Rates are per window of 60 s. */
export interface OrganizationLimits {
  readonly requests_per_minute?: number;
  readonly runs_per_minute?: number;
  /** More runs than this wait. */
  readonly concurrent_runs?: number;
  /** More waiting runs than this are refused. */
  readonly waiting_runs?: number;
  /** The bytes of all files; equal ones count once. */
  readonly file_bytes?: number;
  readonly spend?: SpendLimit;
}

/** The limits of an organization that count something. */
export type CountLimits = Omit<OrganizationLimits, 'spend'>;

/** The rate limit of an API key. */
export interface KeyRateLimit {
  readonly per_minute?: number;
}

/** A rate limit of a caller's key, or of a key in the line of its makers. */
export interface KeyLimit {
  readonly keyId: string;
  readonly perMinute: number;
}

/** The rate limits of a connection's tool calls: of all callers together, and of each caller. */
export interface ConnectionRateLimit {
  readonly per_minute?: number;
  readonly per_caller_per_minute?: number;
}

/** The largest `file_bytes`: a petabyte. */
export const MAX_FILE_BYTES = 1_000_000_000_000_000;

/** The largest other limit that can be set, also in US dollars. */
export const MAX_LIMIT_VALUE = 100_000_000;

type NullableMembers<T> = { readonly [Name in keyof T]?: number | null | undefined };

/**
 * Changes some members of a set of limits: null clears one, and null in place of the change clears all.
 * @returns the set without cleared members
 */
export function changedLimits<T extends object>(stored: T | null, change: NullableMembers<T> | null): T {
  if (change === null) return {} as T;
  const members = Object.entries({ ...stored, ...change }).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(members) as T;
}

/** `changedLimits` for a column that is null without limits. */
export function changedRateLimit<T extends object>(...change: Parameters<typeof changedLimits<T>>): T | null {
  const changed = changedLimits<T>(...change);
  return Object.keys(changed).length === 0 ? null : changed;
}

/** `changedLimits` for the limits of an organization, with the spending limit among them. */
export function changedOrganizationLimits(
  stored: OrganizationLimits,
  change: (NullableMembers<CountLimits> & { readonly spend?: NullableMembers<SpendLimit> | null | undefined }) | null,
): OrganizationLimits {
  if (change === null) return {};
  const { spend: storedSpend = null, ...storedCounts } = stored;
  const { spend: spendChange = {}, ...counts } = change;
  const spend = changedRateLimit(storedSpend, spendChange);
  return { ...changedLimits<CountLimits>(storedCounts, counts), ...(spend && { spend }) };
}

/** True if one of the limits is higher than in the other set, or absent where the other has one. */
export function isLifted<T extends object>(changed: T | null, stored: T | null): boolean {
  return Object.entries(stored ?? {}).some(([name, limit]) => {
    const value = (changed as Record<string, unknown> | null)?.[name];
    if (typeof limit === 'object') return isLifted(value ?? null, limit);
    return value === undefined || (value as number) > (limit as number);
  });
}
