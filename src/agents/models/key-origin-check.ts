import { DomainError } from '../../core/domain-error.js';
import { isSameOrigin } from '../../platform/net/same-origin.js';
import type { AiProviderChange } from './ai-provider.dto.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import type { ModelKinds } from './model-kinds.js';
import { MASKED_KEY, shownFields } from './provider-columns.js';
import { SECRET_FIELDS, toSettings } from './provider-fields.js';

type Address = Pick<AiProviderEntity, 'kind' | 'baseUrl' | 'options'>;

/**
 * Binds stored secrets to the server that they were stored for. Otherwise a caller who can change the address, but
 * cannot read the secrets, could have them sent to a server of their own. A different kind without a base URL counts as
 * another server, even if it has no address.
 * @throws DomainError `invalid_request`
 */
export function refuseKeyForNewOrigin(
  stored: AiProviderEntity,
  changed: Address,
  change: AiProviderChange,
  kinds: ModelKinds,
): void {
  const shown = shownFields(stored);
  const kept = SECRET_FIELDS.filter(
    (field) => shown[field] !== undefined && (change[field] === undefined || change[field] === MASKED_KEY),
  );
  if (kept.length === 0) return;
  const before = addressOf(stored, kinds);
  const after = addressOf(changed, kinds);
  const hasAddresses = before !== undefined && after !== undefined;
  if (hasAddresses ? isSameOrigin(before, after) : before === after && stored.kind === changed.kind) return;
  const mover = (['base_url', 'region'] as const).find((field) => change[field] !== undefined) ?? 'kind';
  const path = `data.${mover}`;
  const message =
    'The stored key belongs to another server. To change the server, ' +
    `send ${kept.join(', ')} again, or null, in the same update.`;
  throw new DomainError('invalid_request', `${path}: ${message}`, [{ path, code: 'credentials_kept', message }]);
}

function addressOf({ kind, baseUrl, options }: Address, kinds: ModelKinds): string | undefined {
  const own = kinds.findByName(kind)?.ownBaseUrl;
  return baseUrl ?? (typeof own === 'function' ? own(toSettings(options)) : own);
}
