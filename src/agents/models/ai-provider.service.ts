import { Injectable } from '@nestjs/common';
import { DomainError, faultAt } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { AddressPolicy, AddressRefusedError } from '../../platform/net/address-policy.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import {
  type AiProviderChange,
  type AiProviderData,
  type AiProviderItem,
  canonicalBaseUrl,
} from './ai-provider.dto.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import { type AiProviderColumns, AiProviderRepository } from './ai-provider.repository.js';
import { ModelKinds } from './model-kind.js';
import { changedColumns, shownFields, MASKED_KEY } from './provider-columns.js';
import { fieldFaults, SECRET_FIELDS, toSettings } from './provider-fields.js';
import { isSameOrigin } from '../../platform/net/same-origin.js';

/**
 * Creates, reads, updates and deletes AI providers. Each belongs to one organization, and its secrets are write-only.
 */
@Injectable()
export class AiProviderService {
  constructor(
    private readonly repository: AiProviderRepository,
    private readonly policy: AddressPolicy,
    private readonly vault: VaultService,
    private readonly kinds: ModelKinds,
  ) {}

  /** @throws DomainError `invalid_request` or `address_refused` */
  async create(data: AiProviderData, caller: Principal): Promise<AiProviderItem> {
    const empty = { id: newId(), apiKey: null, options: {}, secrets: null };
    const provider = {
      ...empty,
      organizationId: caller.organization.id,
      title: data.title,
      kind: data.kind,
      baseUrl: this.checkedBaseUrl(data.base_url ?? null),
      ...changedColumns(this.vault, empty, data),
    };
    this.requireUsable(provider);
    return toItem(await this.repository.insert(provider, caller));
  }

  async list(caller: Principal): Promise<AiProviderItem[]> {
    const providers = await this.repository.findAllOfOrganization(caller.organization.id);
    return providers.map(toItem);
  }

  /** @throws DomainError `not_found`, `invalid_request` or `address_refused` */
  async update(id: string, data: AiProviderChange, caller: Principal): Promise<AiProviderItem> {
    const baseUrl = data.base_url === undefined ? undefined : this.checkedBaseUrl(data.base_url);
    const updated = await this.repository.updateOfOrganization(
      caller.organization.id,
      { id, actor: caller },
      (stored) => {
        const columns: AiProviderColumns = {
          ...(data.title === undefined ? {} : { title: data.title }),
          ...(data.kind === undefined ? {} : { kind: data.kind }),
          ...(baseUrl === undefined ? {} : { baseUrl }),
          ...changedColumns(this.vault, stored, data),
        };
        const changed = { ...stored, ...columns };
        this.requireUsable(changed);
        refuseKeyForNewOrigin(stored, changed, data, this.kinds);
        return columns;
      },
    );
    if (updated === null) throw unknownProvider();
    return toItem(updated);
  }

  /** @throws DomainError `not_found` */
  async delete(id: string, caller: Principal): Promise<AiProviderItem> {
    const deleted = await this.repository.deleteOfOrganization(caller.organization.id, id, caller);
    if (deleted === null) throw unknownProvider();
    return toItem(deleted);
  }

  /** @throws DomainError `not_found` */
  async findProvider(id: string, caller: Principal): Promise<AiProviderEntity> {
    const provider = await this.repository.findOfOrganization(caller.organization.id, id);
    if (provider === null) throw unknownProvider();
    return provider;
  }

  /** Checks that the application has the kind, and that the kind takes the address and the fields. */
  private requireUsable(provider: Pick<AiProviderEntity, 'kind' | 'baseUrl' | 'apiKey' | 'options'>): void {
    const { kind, baseUrl } = provider;
    const models = this.kinds.findByName(kind);
    if (models === undefined) {
      const message = `Must be one of the following kinds: ${this.kinds.names().join(', ')}.`;
      throw new DomainError('invalid_request', message, [{ path: 'data.kind', code: 'is_in', message }]);
    }
    const faults = fieldFaults(kind, models, { baseUrl, values: shownFields(provider) });
    if (faults.length > 0) throw new DomainError('invalid_request', faults[0]?.message, faults);
  }

  private checkedBaseUrl(text: string | null): string | null {
    if (text === null) return null;
    const url = canonicalBaseUrl(text);
    if (url === undefined) {
      const message = 'Must be an http or https URL without credentials, query or fragment.';
      throw badBaseUrl('invalid_request', 'is_base_url', message);
    }
    try {
      this.policy.checkUrl(url);
    } catch (error) {
      if (!(error instanceof AddressRefusedError)) throw error;
      throw badBaseUrl('address_refused', 'address_refused', error.message);
    }
    return url;
  }
}

function badBaseUrl(code: 'invalid_request' | 'address_refused', rule: string, message: string): DomainError {
  return new DomainError(code, message, [{ path: 'data.base_url', code: rule, message }]);
}

function unknownProvider(): DomainError {
  return new DomainError('not_found', 'There is no AI provider with this id in the organization.');
}

function toItem(provider: AiProviderEntity): AiProviderItem {
  const { api_key, api_version, region, access_key_id, secret_access_key, session_token } = shownFields(provider);
  return {
    id: provider.id,
    title: provider.title,
    kind: provider.kind,
    base_url: provider.baseUrl,
    api_key: api_key ?? null,
    api_version: api_version ?? null,
    region: region ?? null,
    access_key_id: access_key_id ?? null,
    secret_access_key: secret_access_key ?? null,
    session_token: session_token ?? null,
    created_at: provider.createdAt.toISOString(),
    updated_at: provider.updatedAt.toISOString(),
  };
}

type Address = Pick<AiProviderEntity, 'kind' | 'baseUrl' | 'options'>;

/**
 * Binds stored secrets to the server that they were stored for. Otherwise a caller who can change the address, but
 * cannot read the secrets, could have them sent to a server of their own. A different kind without a base URL counts as
 * another server, even if it has no address.
 * @throws DomainError `invalid_request`
 */
function refuseKeyForNewOrigin(
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
  const message =
    'The stored key belongs to another server. To change the server, ' +
    `send ${kept.join(', ')} again, or null, in the same update.`;
  throw faultAt(`data.${mover}`, 'credentials_kept', message);
}

function addressOf({ kind, baseUrl, options }: Address, kinds: ModelKinds): string | undefined {
  const own = kinds.findByName(kind)?.ownBaseUrl;
  return baseUrl ?? (typeof own === 'function' ? own(toSettings(options)) : own);
}
