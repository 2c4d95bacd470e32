/** What a run may ask for: each tier maps to a provider and a model per organization. */
export const TIERS = ['fast', 'smart', 'thinking'] as const;

export type Tier = (typeof TIERS)[number];

/** The tier that stands in for one that is not set. */
export const DEFAULT_TIER: Tier = 'smart';
