import { isRecord } from '../is-record.js';
import type { ListInput } from './list-input.js';
import type { ListSpec } from './list-spec.js';

/** More conditions than this on each row of a long list take about as long as one search for text. */
const FEW_CONDITIONS = 5;
const SEARCHES: readonly unknown[] = ['like', 'contains'];

/**
 * Whether a list has to do costly work on every row of an organization: search for text, check many conditions, or sort
 * by another field than its own order begins with.
 */
export function coversAllRows({ where, orderBy }: ListInput, { defaultOrder, tieBreaker }: ListSpec): boolean {
  const conditions = conditionsOf(where);
  if (conditions.length > FEW_CONDITIONS || conditions.some(({ operator }) => SEARCHES.includes(operator))) return true;
  const first = orderBy?.[0]?.field[0];
  return first !== undefined && first !== tieBreaker && first !== defaultOrder[0]?.field;
}

function conditionsOf(where: unknown): Readonly<Record<string, unknown>>[] {
  if (!isRecord(where)) return [];
  return Array.isArray(where['conditions']) ? where['conditions'].flatMap(conditionsOf) : [where];
}
