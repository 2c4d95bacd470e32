import { DomainError } from './domain-error.js';

/** The error response while PostgreSQL or Redis is unavailable. */
export function storageUnavailable(cause?: unknown): DomainError {
  return new DomainError('storage_unavailable', 'Retry shortly.', [], {
    cause,
    headers: { 'retry-after': '1' },
  });
}
