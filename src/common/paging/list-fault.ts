import { DomainError } from '../domain-error.js';

/** One fault in the input of a LIST tool. The message never quotes what the caller sent. */
export function listFault(path: string, code: string, message: string): DomainError {
  return new DomainError('invalid_request', message, [{ path, code, message }]);
}
