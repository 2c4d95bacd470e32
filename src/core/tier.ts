/** The tiers that a run can request: each maps to a provider and a model per organization. */
export const TIERS = ['fast', 'smart', 'thinking'] as const;

export type Tier = (typeof TIERS)[number];

/** The fallback for a tier that is not set. */
export const DEFAULT_TIER: Tier = 'smart';
