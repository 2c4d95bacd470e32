import { DomainError } from '../../common/domain-error.js';
import type { Connection } from '../../connections/connection.js';

/** One in the status `error` passes: that is how it recovers. @throws DomainError `connection_unavailable` */
export function requireActive({ status }: Connection): void {
  if (status === 'inactive') throw new DomainError('connection_unavailable', 'The connection is inactive.');
}
