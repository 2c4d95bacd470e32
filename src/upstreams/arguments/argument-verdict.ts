import { DomainError, type FieldError } from '../../common/domain-error.js';

/**
 * What a check found. `unfit` names at most 20 faults, by path and rule, and never quotes a value of the arguments;
 * `unusable` says in a sentence why the schema cannot be used; `busy` means that too many checks wait already.
 */
export type ArgumentVerdict =
  | { readonly outcome: 'fit' }
  | { readonly outcome: 'unfit'; readonly faults: readonly FieldError[] }
  | { readonly outcome: 'unusable'; readonly reason: string }
  | { readonly outcome: 'busy' };

const FIT: ArgumentVerdict = { outcome: 'fit' };
const LONGEST_REASON = 300;

/** The verdict on arguments in which these faults were found. */
export function verdictOn(faults: readonly FieldError[]): ArgumentVerdict {
  return faults.length === 0 ? FIT : { outcome: 'unfit', faults };
}

/** The verdict on a schema that cannot be used; a reason that quotes the schema is cut to a length that can be logged. */
export function unusable(reason: string): ArgumentVerdict {
  const cut = reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason;
  return { outcome: 'unusable', reason: cut.toWellFormed() };
}

/** The error that a caller gets for this verdict; undefined if the call may go on. */
export function refusalOf(verdict: ArgumentVerdict): DomainError | undefined {
  switch (verdict.outcome) {
    case 'fit':
      return undefined;
    case 'unfit':
      return new DomainError('invalid_arguments', summaryOf(verdict.faults), verdict.faults);
    case 'unusable':
      return new DomainError('tool_schema_invalid', `The input schema of the tool cannot be used: ${verdict.reason}.`);
    case 'busy':
      return new DomainError('connection_unavailable', 'Too many checks of tool arguments wait already.', undefined, {
        headers: { 'Retry-After': '1' },
      });
  }
}

function summaryOf(faults: readonly FieldError[]): string {
  const [first] = faults;
  const where = first === undefined || first.path === '' ? 'arguments' : `arguments.${first.path}`;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return `${where} ${first?.message ?? 'do not fit'}${more}`;
}
