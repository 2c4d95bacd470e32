import { DomainError } from '../common/domain-error.js';
import { MASK } from './connection.dto.js';

type Values = Readonly<Record<string, string>>;

/** How the names of a map of secrets are compared, and where each stands in the request. */
export interface SecretNames {
  readonly fold: (name: string) => string;
  readonly pathOf: (name: string) => string;
}

/**
 * Puts the stored value of the same name wherever `***` stands for it; `stored` is opened only if one does.
 * @throws DomainError `invalid_request`
 */
export function unmasked(sent: Values, stored: () => Values, { fold, pathOf }: SecretNames): Values {
  if (!Object.values(sent).includes(MASK)) return sent;
  const known = new Map(Object.entries(stored()).map(([name, value]) => [fold(name), value]));
  const entries = Object.entries(sent).map(([name, value]) => {
    if (value !== MASK) return [name, value] as const;
    const kept = known.get(fold(name));
    if (kept === undefined) throw nothingStored(pathOf(name));
    return [name, kept] as const;
  });
  return Object.fromEntries(entries);
}

export function nothingStored(path: string): DomainError {
  const message = `${MASK} stands for a stored value, and none is stored here.`;
  return new DomainError('invalid_request', `${path}: ${message}`, [{ path, code: 'nothing_stored', message }]);
}
