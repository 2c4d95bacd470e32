import { DomainError, type FieldError } from '../../core/domain-error.js';

/**
 * The result of a validation. `unfit` has at most 20 faults with path and rule, and never a value of the arguments.
 * `unusable` states in a sentence why the schema cannot be used. `busy` means that too many validations are queued.
 */
export type ArgumentVerdict =
  | { readonly outcome: 'fit' }
  | { readonly outcome: 'unfit'; readonly faults: readonly FieldError[] }
  | { readonly outcome: 'unusable'; readonly reason: string }
  | { readonly outcome: 'busy' };

const FIT: ArgumentVerdict = { outcome: 'fit' };
const LONGEST_REASON = 300;

export function verdictOn(faults: readonly FieldError[]): ArgumentVerdict {
  return faults.length === 0 ? FIT : { outcome: 'unfit', faults };
}

/** The verdict on a schema that cannot be used. The reason can quote the schema, so it is truncated for logs. */
export function unusable(reason: string): ArgumentVerdict {
  const cut = reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason;
  return { outcome: 'unusable', reason: cut.toWellFormed() };
}

/** The error for the caller; undefined if the arguments are valid. */
export function refusalOf(verdict: ArgumentVerdict): DomainError | undefined {
  switch (verdict.outcome) {
    case 'fit':
      return undefined;
    case 'unfit':
      return new DomainError('invalid_arguments', summaryOf(verdict.faults), verdict.faults);
    case 'unusable':
      return new DomainError('tool_schema_invalid', `The input schema of the tool cannot be used: ${verdict.reason}.`);
    case 'busy':
      return new DomainError('connection_unavailable', 'Too many argument validations are queued.', undefined, {
        headers: { 'Retry-After': '1' },
      });
  }
}

/** Every fault, so that a model can mend all of them at once. */
function summaryOf(faults: readonly FieldError[]): string {
  const list = faults.map(({ path, message }) => `${pathOf(path)} ${message}`);
  return `The arguments do not match the tool's input schema: ${list.join('; ')}.`;
}

function pathOf(path: string): string {
  if (path === '') return 'arguments';
  return path.startsWith('[') ? `arguments${path}` : `arguments.${path}`;
}
