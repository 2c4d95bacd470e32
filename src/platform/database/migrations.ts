import { Baseline1763700000000 } from './migrations/1763700000000-baseline.js';

/** Every migration, oldest first. Named one by one so that bundlers, tests and the CLI all see the same list. */
export const MIGRATIONS = [Baseline1763700000000];
