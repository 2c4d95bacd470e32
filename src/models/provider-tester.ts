import { Injectable } from '@nestjs/common';
import { DomainError } from '../common/domain-error.js';
import type { Principal } from '../common/principal.js';
import type { AiProviderTested, AiProviderTestInput } from './ai-provider.dto.js';
import { AiProviderService } from './ai-provider.service.js';
import { probe } from './probe.js';
import { describeProviderFailure } from './provider-failure.js';
import { ProviderModels } from './provider-models.js';

const TIME_LIMIT_MS = 20_000;

/** Finds out whether a provider answers, with one small call that is not repeated. */
@Injectable()
export class ProviderTester {
  constructor(
    private readonly providers: AiProviderService,
    private readonly models: ProviderModels,
  ) {}

  /** @throws DomainError `not_found`; everything that is wrong with the provider is in the answer */
  async test({ id, model }: AiProviderTestInput, caller: Principal): Promise<AiProviderTested> {
    const provider = await this.providers.find(id, caller);
    const start = performance.now();
    const latency = () => Math.round(performance.now() - start);
    try {
      await probe(this.models.open(provider, model), AbortSignal.timeout(TIME_LIMIT_MS));
      return { ok: true, latency_ms: latency() };
    } catch (error) {
      return { ok: false, latency_ms: latency(), error: sentenceOf(error) };
    }
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof DomainError ? error.message : describeProviderFailure(error).message;
}
