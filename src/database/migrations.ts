import { Initial1763700000000 } from './migrations/1763700000000-initial.js';
import { RunEvents1763700000100 } from './migrations/1763700000100-run-events.js';

/** Every migration, oldest first. Named one by one so that bundlers, tests and the CLI all see the same list. */
export const MIGRATIONS = [Initial1763700000000, RunEvents1763700000100];
