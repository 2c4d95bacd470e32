import { Injectable } from '@nestjs/common';
import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { createEchoModel } from './builtin/echo-model.js';
import type { ModelPrice } from './model-price.js';
import { ModelTiersRepository } from './model-tiers.repository.js';
import { ProviderModels } from './provider-models.js';
import type { Tier } from '../../core/tier.js';

const FIRST_CHUNK_TIMEOUT_MS = 60_000;

/** A model that serves a tier. */
export interface TierModel {
  /** `<kind>/<model>`, or `builtin/echo`. */
  readonly name: string;
  /** Null for the built-in model. */
  readonly providerId: string | null;
  /** The provider's name for it. */
  readonly model: string;
  /** Null if none is set, and for the built-in model. */
  readonly price: ModelPrice | null;
  /** Null for the limit of the model itself. */
  readonly maxOutputTokens: number | null;
  /** How long it can take to begin its answer, in milliseconds. */
  readonly firstChunkTimeoutMs: number;
  /** What its SDK needs to ask for JSON that matches a schema; null: an instruction asks for it. */
  readonly schemaOptions: SharedV4ProviderOptions | null;
  /** Whether it takes files of a media type in messages. */
  takesFile(mediaType: string): boolean;
  /** Makes it callable. @throws DomainError when the stored secrets of the provider can no longer be decrypted */
  open(): Promise<LanguageModelV4>;
}

/** Finds the models that serve a tier of an organization. */
@Injectable()
export class ModelsService {
  constructor(
    private readonly tiers: ModelTiersRepository,
    private readonly providers: ProviderModels,
  ) {}

  /**
   * The models of the tier, in the order in which they are tried; at least one. A tier that is not set falls back to
   * `smart`, then to the built-in model.
   */
  async resolveModels(organizationId: string, tier: Tier): Promise<TierModel[]> {
    const serving = await this.tiers.findServing(organizationId, tier);
    if (serving.length === 0) return [builtin()];
    return serving.map(({ provider, model, price, maxOutputTokens, firstChunkTimeoutS }) => ({
      name: `${provider.kind}/${model}`,
      providerId: provider.id,
      model,
      price,
      maxOutputTokens,
      firstChunkTimeoutMs: firstChunkTimeoutS === null ? FIRST_CHUNK_TIMEOUT_MS : firstChunkTimeoutS * 1000,
      schemaOptions: this.providers.schemaOptions(provider.kind),
      takesFile: (mediaType) => this.providers.takesFile(provider.kind, mediaType),
      open: () => this.providers.open(provider, model),
    }));
  }
}

function builtin(): TierModel {
  const model = createEchoModel();
  return {
    name: `${model.provider}/${model.modelId}`,
    providerId: null,
    model: model.modelId,
    price: null,
    maxOutputTokens: null,
    // Only a directive delays it.
    firstChunkTimeoutMs: Infinity,
    schemaOptions: {},
    takesFile: () => true,
    open: async () => model,
  };
}
