import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { AddressPolicy } from '../../platform/net/address-policy.js';
import { AddressRefusedError } from '../../platform/net/address-refused-error.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { type AiProviderChange, type AiProviderData, type AiProviderItem, MASKED_KEY } from './ai-provider.dto.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import { type AiProviderColumns, AiProviderRepository } from './ai-provider.repository.js';
import { canonicalBaseUrl } from './base-url.js';
import { refuseKeyForNewOrigin } from './key-origin-check.js';
import { ModelKinds } from './model-kinds.js';
import { apiKeyContext } from './provider-models.js';

/** Creates, reads, updates and deletes AI providers. Each belongs to one organization, and its key is write-only. */
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
    const id = newId();
    const provider = {
      id,
      organizationId: caller.organization.id,
      title: data.title,
      kind: data.kind,
      baseUrl: this.checkedBaseUrl(data.base_url ?? null),
      apiKey: this.sealed(data.api_key ?? null, id),
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
          ...(data.api_key === undefined || data.api_key === MASKED_KEY
            ? {}
            : { apiKey: this.sealed(data.api_key, stored.id) }),
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

  /** Checks that the application has the kind, and that a base URL is set if the kind requires one. */
  private requireUsable({ kind, baseUrl }: Pick<AiProviderEntity, 'kind' | 'baseUrl'>): void {
    const models = this.kinds.findByName(kind);
    if (models === undefined) {
      const message = `Must be one of the following kinds: ${this.kinds.names().join(', ')}.`;
      throw new DomainError('invalid_request', message, [{ path: 'data.kind', code: 'is_in', message }]);
    }
    if (models.needsBaseUrl !== true || baseUrl !== null) return;
    throw badBaseUrl('invalid_request', 'is_defined', `A provider of kind ${kind} requires a base URL.`);
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

  private sealed(apiKey: string | null, id: string): string | null {
    return apiKey === null ? null : this.vault.seal(apiKey, apiKeyContext(id));
  }
}

function badBaseUrl(code: 'invalid_request' | 'address_refused', rule: string, message: string): DomainError {
  return new DomainError(code, message, [{ path: 'data.base_url', code: rule, message }]);
}

function unknownProvider(): DomainError {
  return new DomainError('not_found', 'There is no AI provider with this id in the organization.');
}

function toItem(provider: AiProviderEntity): AiProviderItem {
  return {
    id: provider.id,
    title: provider.title,
    kind: provider.kind,
    base_url: provider.baseUrl,
    api_key: provider.apiKey === null ? null : MASKED_KEY,
    created_at: provider.createdAt.toISOString(),
    updated_at: provider.updatedAt.toISOString(),
  };
}
