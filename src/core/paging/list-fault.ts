import { DomainError } from '../domain-error.js';

/** One fault in the input of a LIST tool. The message never quotes the input. */
export function listFault(path: string, code: string, message: string): DomainError {
  return new DomainError('invalid_request', message, [{ path, code, message }]);
}
