import { Injectable } from '@nestjs/common';
import { endIfCallerLeft, HELD_PER_JSON_BYTE, type HeldAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { type AiProviderModels, type AiProviderModelsInput, isModelName, MAX_MODELS } from './ai-provider.dto.js';
import { AiProviderService } from './ai-provider.service.js';
import { sentenceOfFailure } from './provider-failure.js';
import { MAX_LIST_BYTES, ProviderModels } from './provider-models.js';

const TIME_LIMIT_MS = 10_000;

/** Asks providers which models they have. */
@Injectable()
export class ProviderModelList {
  constructor(
    private readonly providers: AiProviderService,
    private readonly models: ProviderModels,
  ) {}

  /** @throws DomainError `not_found` or `answer_memory_exhausted`; the result reports every fault of the provider */
  async read({ id }: AiProviderModelsInput, caller: Principal, answer: HeldAnswer): Promise<AiProviderModels> {
    const provider = await this.providers.findProvider(id, caller);
    answer.reserve(MAX_LIST_BYTES * HELD_PER_JSON_BYTE);
    try {
      const signal = AbortSignal.any([answer.callerLeft, AbortSignal.timeout(TIME_LIMIT_MS)]);
      const names = await this.models.list(provider, signal);
      if (names !== undefined) return { models: firstOf(names) };
      return { models: [], error: `This service reads no list of models from providers of kind ${provider.kind}.` };
    } catch (error) {
      endIfCallerLeft(answer);
      return { models: [], error: sentenceOfFailure(error) };
    }
  }
}

function firstOf(names: readonly string[]): string[] {
  const found = new Set<string>();
  for (const name of names) {
    if (found.size === MAX_MODELS) break;
    if (isModelName(name)) found.add(name);
  }
  return [...found].toSorted();
}
