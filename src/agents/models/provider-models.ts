import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { DomainError } from '../../core/domain-error.js';
import { AddressPolicy } from '../../platform/net/address-policy.js';
import { GuardedDispatcher } from '../../platform/net/guarded-dispatcher.js';
import { PROVIDER_LIMITS } from '../../platform/net/http-limits.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import { ModelKinds } from './model-kinds.js';
import { createProviderFetch, hidingKey } from './provider-fetch.js';

/** The access data of a provider, with its key sealed. */
export type StoredProvider = Pick<AiProviderEntity, 'id' | 'kind' | 'baseUrl' | 'apiKey'>;

/** The context that the vault binds a provider's key to. */
export function apiKeyContext(providerId: string): string {
  return `ai_provider:${providerId}:api_key`;
}

/**
 * Creates callable models of stored providers. All calls share one connection pool that enforces the address policy.
 */
@Injectable()
export class ProviderModels implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;
  private readonly fetch: typeof globalThis.fetch;

  constructor(
    policy: AddressPolicy,
    private readonly vault: VaultService,
    private readonly kinds: ModelKinds,
  ) {
    this.dispatcher = new GuardedDispatcher(policy, { connections: PROVIDER_LIMITS.socketsPerOrigin });
    this.fetch = createProviderFetch(this.dispatcher);
  }

  /** @throws DomainError when the stored key cannot be decrypted, or no module has the kind */
  open(provider: StoredProvider, model: string): LanguageModelV4 {
    const { kind, baseUrl } = provider;
    const models = this.kinds.findByName(kind);
    if (models === undefined) {
      throw new DomainError('internal', `This service does not support the kind ${kind} of the AI provider.`);
    }
    const apiKey = this.apiKeyOf(provider);
    return models.openModel({
      model,
      fetch: hidingKey(this.fetch, apiKey),
      ...(baseUrl === null ? {} : { baseUrl }),
      ...(apiKey === undefined ? {} : { apiKey }),
    });
  }

  /** Whether models of the kind take files of the type in messages. */
  takesFile(kind: string, mediaType: string): boolean {
    return this.kinds.findByName(kind)?.files?.test(mediaType) === true;
  }

  onApplicationShutdown(): Promise<void> {
    return this.dispatcher.destroy();
  }

  private apiKeyOf({ id, apiKey }: StoredProvider): string | undefined {
    if (apiKey === null) return undefined;
    try {
      return this.vault.open(apiKey, apiKeyContext(id));
    } catch (cause) {
      throw new DomainError(
        'internal',
        'The stored key of the AI provider cannot be decrypted; store the key again.',
        [],
        {
          cause,
        },
      );
    }
  }
}
