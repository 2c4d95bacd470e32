import { DomainError } from '../../core/domain-error.js';
import type { Connection } from '../../connections/connection.js';

/** A connection in status `error` passes, so that it can recover. @throws DomainError `connection_unavailable` */
export function requireActive({ status }: Connection): void {
  if (status === 'inactive') throw new DomainError('connection_unavailable', 'The connection is inactive.');
}
