import { listFault, type ListOrder } from './list-input.js';
import { findField, type ListField, type ListSpec, type SortDirection } from './list-spec.js';

/** One term of a total order. */
export interface OrderTerm {
  readonly name: string;
  readonly field: ListField;
  readonly direction: SortDirection;
}

/**
 * The total order of a list: the caller's terms, or the list's own, and then the tie-breaker in the direction of the
 * last term, so that one index can serve both.
 * @throws DomainError `invalid_request` for a field that is unknown, nullable or named twice
 */
export function resolveOrder(spec: ListSpec, orderBy: readonly ListOrder[]): readonly OrderTerm[] {
  const terms = orderBy.length > 0 ? requestedTerms(spec, orderBy) : defaultTerms(spec);
  if (terms.some((term) => term.name === spec.tieBreaker)) return terms;
  return [...terms, termOf(spec, spec.tieBreaker, terms.at(-1)?.direction ?? 'asc')];
}

function requestedTerms(spec: ListSpec, orderBy: readonly ListOrder[]): readonly OrderTerm[] {
  const sortable = Object.keys(spec.fields).filter((name) => isSortable(spec.fields[name]));
  const seen = new Set<string>();
  return orderBy.map(({ field: [name = ''], direction }, index) => {
    const path = `orderBy[${index}].field`;
    if (!sortable.includes(name)) {
      throw listFault(path, 'unknown_field', `The field must be a list of exactly one of ${sortable.join(', ')}.`);
    }
    if (seen.has(name)) throw listFault(path, 'duplicate_field', 'A field can be ordered by only once.');
    seen.add(name);
    return termOf(spec, name, direction);
  });
}

function isSortable(field: ListField | undefined): boolean {
  return field?.nullable !== true || field.order !== undefined;
}

/** SQL for what the term orders by. */
export function orderColumn({ field }: OrderTerm): string {
  return field.order?.sql ?? field.column;
}

function defaultTerms(spec: ListSpec): readonly OrderTerm[] {
  return spec.defaultOrder.map(({ field, direction }) => termOf(spec, field, direction));
}

/** Called only for names that must exist: a missing name is a bug in the list's definition. */
function termOf(spec: ListSpec, name: string, direction: SortDirection): OrderTerm {
  const field = findField(spec, name);
  if (field === undefined) throw new Error(`The list ${spec.name} does not publish its order field ${name}.`);
  return { name, field, direction };
}
