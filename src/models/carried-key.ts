import { DomainError } from '../common/domain-error.js';
import { isSameOrigin } from '../net/same-origin.js';
import { type AiProviderChange, MASKED_KEY } from './ai-provider.dto.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import type { ModelKinds } from './model-kinds.js';

type Address = Pick<AiProviderEntity, 'kind' | 'baseUrl'>;

const MESSAGE =
  'The stored key was given for another server. To change it, send api_key again, or null, in the same update.';

/**
 * A stored key stays with the server that it was given for: who may change an address but not read the key could else have
 * it sent to a server of their own. Another kind without a base URL is another server too, also if it has no address.
 * @throws DomainError `invalid_request`
 */
export function refuseCarriedKey(
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
