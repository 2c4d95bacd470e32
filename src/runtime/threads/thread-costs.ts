import { DomainError } from '../../core/domain-error.js';
import { hasConditionOn } from '../../core/paging/covers-all-rows.js';
import type { ListInput } from '../../core/paging/list-input.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';

/** The management tools that show what runs cost and who posted them. What else tells it requires one of them. */
const SHOW_RUNS = ['RUN_LIST', 'USAGE_STATS'];

/** The fields of the list of threads that tell it of the runs of a thread. */
const OF_RUNS: readonly string[] = ['cost_usd', 'user_id', 'api_key_id'];

/** Whether the caller is allowed to know what runs cost and who posted them. */
export function seesCosts({ permissions }: Principal): boolean {
  return SHOW_RUNS.some((tool) => allows(permissions, SELF, tool));
}

/**
 * Checks that a caller who filters or orders threads by what their runs cost, or by who posted them, may know that.
 * @throws DomainError `permission_denied`
 */
export function requireVisibleCosts(caller: Principal, { where, orderBy }: Pick<ListInput, 'where' | 'orderBy'>): void {
  if (seesCosts(caller)) return;
  const isOrdered = orderBy?.some(({ field }) => field.some((name) => OF_RUNS.includes(name))) ?? false;
  if (!isOrdered && !hasConditionOn(where, OF_RUNS)) return;
  throw new DomainError('permission_denied', `${OF_RUNS.join(', ')} of threads require ${SHOW_RUNS.join(' or ')}.`);
}
