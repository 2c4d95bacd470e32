import { Injectable } from '@nestjs/common';
import type { Principal } from '../../core/principal.js';
import { type AiProviderModels, type AiProviderModelsInput, isModelName } from './ai-provider.dto.js';
import { AiProviderService } from './ai-provider.service.js';
import { sentenceOfFailure } from './provider-failure.js';
import { ProviderModels } from './provider-models.js';

/** The most models that a list names. */
const MAX_MODELS = 1_000;
const TIME_LIMIT_MS = 10_000;

/** Asks providers which models they have. */
@Injectable()
export class ProviderModelList {
  constructor(
    private readonly providers: AiProviderService,
    private readonly models: ProviderModels,
  ) {}

  /** @throws DomainError `not_found`; the result reports every fault of the provider */
  async read({ id }: AiProviderModelsInput, caller: Principal): Promise<AiProviderModels> {
    const provider = await this.providers.findProvider(id, caller);
    try {
      const names = await this.models.list(provider, AbortSignal.timeout(TIME_LIMIT_MS));
      if (names !== undefined)
        return { models: [...new Set(names.filter(isModelName))].toSorted().slice(0, MAX_MODELS) };
      return { models: [], error: `The API of the kind ${provider.kind} has no list of names that a tier takes.` };
    } catch (error) {
      return { models: [], error: sentenceOfFailure(error) };
    }
  }
}
