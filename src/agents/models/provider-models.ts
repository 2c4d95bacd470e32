import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { DomainError } from '../../core/domain-error.js';
import { MAX_PARSED_SIGNS } from '../../core/json/parse-cost.js';
import { AddressPolicy } from '../../platform/net/address-policy.js';
import { GuardedDispatcher } from '../../platform/net/guarded-dispatcher.js';
import { PROVIDER_LIMITS } from '../../platform/net/http-limits.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { type StreamFraming, createProviderFetch, hidingKey } from './provider-fetch.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import { type LanguageModels, type ProviderSettings, ModelKinds } from './model-kind.js';
import { openFields } from './provider-columns.js';
import { SECRET_FIELDS, toSettings } from './provider-fields.js';

/** The most bytes of a list of models. That of a service with the models of all providers has less than 1 MiB. */
export const MAX_LIST_BYTES = 2 * 1024 * 1024;

/** The access data of a provider, with its secrets sealed. */
export type StoredProvider = Pick<AiProviderEntity, 'id' | 'kind' | 'baseUrl' | 'apiKey' | 'options' | 'secrets'>;

/**
 * Creates callable models of stored providers. All calls share one connection pool that enforces the address policy.
 */
@Injectable()
export class ProviderModels implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;
  private readonly fetches: Readonly<Record<StreamFraming, typeof globalThis.fetch>>;
  private readonly fetchList: typeof globalThis.fetch;

  constructor(
    policy: AddressPolicy,
    private readonly vault: VaultService,
    private readonly kinds: ModelKinds,
  ) {
    this.dispatcher = new GuardedDispatcher(policy, { connections: PROVIDER_LIMITS.socketsPerOrigin });
    const limits = PROVIDER_LIMITS;
    this.fetches = {
      events: createProviderFetch(this.dispatcher, limits, 'events'),
      deltas: createProviderFetch(this.dispatcher, { ...limits, maxEventSigns: limits.maxDeltaSigns }, 'deltas'),
      frames: createProviderFetch(this.dispatcher, limits, 'frames'),
    };
    const listLimits = { ...limits, maxAnswerBytes: MAX_LIST_BYTES, maxEventSigns: MAX_PARSED_SIGNS };
    this.fetchList = createProviderFetch(this.dispatcher, listLimits);
  }

  /** @throws DomainError when a stored secret cannot be decrypted, or no module has the kind */
  async open(provider: StoredProvider, model: string): Promise<LanguageModelV4> {
    const { models, settings } = this.access(provider, ({ framing = 'events' }) => this.fetches[framing]);
    return models.openModel({ ...settings, model });
  }

  /**
   * Asks a provider for the names of its models.
   * @returns undefined if the kind reads no list
   * @throws as `open`, and what describes a failure of the provider (`describeProviderFailure`)
   */
  async list(provider: StoredProvider, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const fetch: typeof globalThis.fetch = (input, init) => this.fetchList(input, { ...init, signal });
    const { models, settings } = this.access(provider, () => fetch);
    return models.listModels?.(settings);
  }

  /** Whether models of the kind take files of the type in messages. */
  takesFile(kind: string, mediaType: string): boolean {
    return this.kinds.findByName(kind)?.files?.test(mediaType) === true;
  }

  /** What the SDK of the kind needs to ask for JSON that matches a schema; null if it cannot. */
  schemaOptions(kind: string): SharedV4ProviderOptions | null {
    return this.kinds.findByName(kind)?.schemaOptions ?? null;
  }

  private access(
    provider: StoredProvider,
    fetchOf: (models: LanguageModels) => typeof globalThis.fetch,
  ): { models: LanguageModels; settings: ProviderSettings } {
    const { kind, baseUrl } = provider;
    const models = this.kinds.findByName(kind);
    if (models === undefined) {
      throw new DomainError('internal', `This service does not support the kind ${kind} of the AI provider.`);
    }
    const fields = openFields(this.vault, provider);
    const settings = {
      fetch: hidingKey(fetchOf(models), ...SECRET_FIELDS.map((field) => fields[field])),
      ...(baseUrl === null ? {} : { baseUrl }),
      ...toSettings(fields),
    };
    return { models, settings };
  }

  onApplicationShutdown(): Promise<void> {
    return this.dispatcher.destroy();
  }
}
