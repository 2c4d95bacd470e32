import { Injectable } from '@nestjs/common';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { createEchoModel } from './builtin/echo-model.js';
import type { ModelPrice } from './model-price.js';
import { ModelTiersRepository } from './model-tiers.repository.js';
import { ProviderModels } from './provider-models.js';
import type { Tier } from '../../core/tier.js';

/** A callable model and its display name: `<kind>/<model>`, or `builtin/echo`. */
export interface ResolvedModel {
  model: LanguageModelV4;
  name: string;
  /** Null if none is set, and for the built-in model. */
  price: ModelPrice | null;
  /** Whether it takes files of a media type in messages. */
  takesFile(mediaType: string): boolean;
}

/** Finds the model that serves a tier of an organization. */
@Injectable()
export class ModelsService {
  constructor(
    private readonly tiers: ModelTiersRepository,
    private readonly providers: ProviderModels,
  ) {}

  /**
   * The model of the tier; a tier that is not set falls back to `smart`, then to the built-in model.
   * @throws DomainError when the stored secrets of the provider can no longer be decrypted
   */
  async resolveModel(organizationId: string, tier: Tier): Promise<ResolvedModel> {
    const serving = await this.tiers.findServing(organizationId, tier);
    if (serving === undefined) {
      const model = createEchoModel();
      return { model, name: `${model.provider}/${model.modelId}`, price: null, takesFile: () => true };
    }
    const { provider, model, price } = serving;
    return {
      model: await this.providers.open(provider, model),
      name: `${provider.kind}/${model}`,
      price,
      takesFile: (mediaType) => this.providers.takesFile(provider.kind, mediaType),
    };
  }
}
