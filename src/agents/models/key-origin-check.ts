import { DomainError } from '../../core/domain-error.js';
import { isSameOrigin } from '../../platform/net/same-origin.js';
import { type AiProviderChange, MASKED_KEY } from './ai-provider.dto.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import type { ModelKinds } from './model-kinds.js';

type Address = Pick<AiProviderEntity, 'kind' | 'baseUrl'>;

const MESSAGE =
  'The stored key belongs to another server. To change the server, send api_key again, or null, in the same update.';

/**
 * Binds a stored key to the server that it was stored for. Otherwise a caller who can change the address, but cannot
 * read the key, could have it sent to a server of their own. A different kind without a base URL counts as another
 * server, even if it has no address.
 * @throws DomainError `invalid_request`
 */
export function refuseKeyForNewOrigin(
  stored: AiProviderEntity,
  changed: Address,
  change: AiProviderChange,
  kinds: ModelKinds,
): void {
  const keepsKey = stored.apiKey !== null && (change.api_key === undefined || change.api_key === MASKED_KEY);
  if (!keepsKey) return;
  const before = addressOf(stored, kinds);
  const after = addressOf(changed, kinds);
  const hasAddresses = before !== undefined && after !== undefined;
  if (hasAddresses ? isSameOrigin(before, after) : before === after && stored.kind === changed.kind) return;
  const path = change.base_url === undefined ? 'data.kind' : 'data.base_url';
  throw new DomainError('invalid_request', `${path}: ${MESSAGE}`, [
    { path, code: 'credentials_kept', message: MESSAGE },
  ]);
}

function addressOf({ kind, baseUrl }: Address, kinds: ModelKinds): string | undefined {
  return baseUrl ?? kinds.findByName(kind)?.ownBaseUrl;
}
