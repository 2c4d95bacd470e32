import { DomainError } from './domain-error.js';

/** The answer while PostgreSQL or Redis is away. */
export function storageUnavailable(cause?: unknown): DomainError {
  return new DomainError('storage_unavailable', 'Please try again shortly.', [], {
    cause,
    headers: { 'retry-after': '1' },
  });
}
