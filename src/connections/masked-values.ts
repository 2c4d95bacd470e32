import { type DomainError, faultAt } from '../core/domain-error.js';
import { MASK } from './connection.dto.js';

type Values = Readonly<Record<string, string>>;

/** How the names in a map of secrets are compared, and the path of each name in the request. */
interface SecretNames {
  readonly fold: (name: string) => string;
  readonly pathOf: (name: string) => string;
}

/**
 * Replaces each `***` by the stored value of the same name. Opens `stored` only if the map contains `***`.
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
  return faultAt(path, 'nothing_stored', `${MASK} stands for a stored value, but no value is stored here.`);
}
