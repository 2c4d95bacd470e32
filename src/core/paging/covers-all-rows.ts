import { isRecord } from '../is-record.js';
import type { ListInput } from './list-input.js';
import type { ListSpec } from './list-spec.js';

/** More conditions than this on each row of a long list take about as long as one search for text. */
const FEW_CONDITIONS = 5;
const SEARCHES: readonly unknown[] = ['like', 'contains', 'matches'];

/**
 * Whether a list has to do costly work on every row of an organization: search for text, check many conditions, or sort
 * by another field than its own order begins with.
 */
export function coversAllRows(
  { where, orderBy }: ListInput,
  { defaultOrder, searches, tieBreaker }: ListSpec,
): boolean {
  const conditions = conditionsOf(where);
  if (conditions.length > FEW_CONDITIONS || conditions.some(({ operator }) => SEARCHES.includes(operator))) return true;
  if (hasConditionOn(where, Object.keys(searches ?? {}))) return true;
  const first = orderBy?.[0]?.field[0];
  return first !== undefined && first !== tieBreaker && first !== defaultOrder[0]?.field;
}

/** Whether a filter has a condition on one of these fields. */
export function hasConditionOn(where: unknown, names: readonly string[]): boolean {
  return conditionsOf(where).some(({ field }) => Array.isArray(field) && names.includes(field[0] as string));
}

/** Whether a filter searches for words, which an index has to find. */
export function searchesWords(where: unknown): boolean {
  return conditionsOf(where).some(({ operator }) => operator === 'matches');
}

function conditionsOf(where: unknown): Readonly<Record<string, unknown>>[] {
  if (!isRecord(where)) return [];
  return Array.isArray(where['conditions']) ? where['conditions'].flatMap(conditionsOf) : [where];
}
