import { DomainError, type FieldError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import type { RunRequest } from './run-request.dto.js';

/**
 * Refuses what the holder of a browser token does not decide: instructions, the tier and the temperature. Visitors of a
 * web page hold these tokens, and ask as users only.
 * @throws DomainError `permission_denied`
 */
export function requireTokenRequest({ thread }: Principal, request: RunRequest): void {
  if (thread === undefined) return;
  const { messages, tier, temperature } = request;
  const paths = [
    ...messages.flatMap(({ role }, index) => (role === 'user' ? [] : [`messages[${index}].role`])),
    ...(tier === undefined ? [] : ['tier']),
    ...(temperature === undefined ? [] : ['temperature']),
  ];
  if (paths.length === 0) return;
  const errors = paths.map((path): FieldError => ({ path, code: 'permission_denied', message: messageOf(path) }));
  const detail =
    'A browser token can post only messages with the role user, without tier and temperature: ' +
    `${paths.join(', ')}.`;
  throw new DomainError('permission_denied', detail, errors);
}

function messageOf(path: string): string {
  return path.startsWith('messages')
    ? 'A browser token can post messages with the role user only.'
    : 'A browser token cannot set this property.';
}
