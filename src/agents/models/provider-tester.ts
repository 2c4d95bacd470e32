import { Injectable } from '@nestjs/common';
import type { Principal } from '../../core/principal.js';
import type { AiProviderTested, AiProviderTestInput } from './ai-provider.dto.js';
import { AiProviderService } from './ai-provider.service.js';
import { sentenceOfFailure } from './provider-failure.js';
import { ProviderModels } from './provider-models.js';
import { InvalidResponseDataError, type LanguageModelV4 } from '@ai-sdk/provider';

/** The smallest output limit that every provider accepts. */
const MAX_OUTPUT_TOKENS = 16;

const TIME_LIMIT_MS = 20_000;
/** Far more than a few words have. */
const MAX_PARTS = 10_000;

/** What the SDKs report when a stream ends without a finish reason. */
const UNFINISHED: ReadonlySet<string> = new Set(['other', 'interrupted', 'error']);

/** Tests a provider with one small call that is not retried. */
@Injectable()
export class ProviderTester {
  constructor(
    private readonly providers: AiProviderService,
    private readonly models: ProviderModels,
  ) {}

  /** @throws DomainError `not_found`; the result reports every fault of the provider */
  async test({ id, model }: AiProviderTestInput, caller: Principal): Promise<AiProviderTested> {
    const provider = await this.providers.findProvider(id, caller);
    const start = performance.now();
    const latency = () => Math.round(performance.now() - start);
    try {
      await probe(await this.models.open(provider, model), AbortSignal.timeout(TIME_LIMIT_MS));
      return { ok: true, latency_ms: latency() };
    } catch (error) {
      return { ok: false, latency_ms: latency(), error: sentenceOfFailure(error) };
    }
  }
}

/**
 * Requests a few words from a model, streamed, as runs do. Returns when the answer has ended normally. Otherwise throws
 * the error of the SDK or the reason of the abort.
 */
export async function probe(model: LanguageModelV4, signal: AbortSignal): Promise<void> {
  const { stream } = await model.doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Reply with the word OK.' }] }],
    maxOutputTokens: MAX_OUTPUT_TOKENS,
    abortSignal: signal,
  });
  let answered = false;
  let parts = 0;
  for await (const part of stream) {
    if (++parts > MAX_PARTS) throw new InvalidResponseDataError({ data: null, message: 'The response does not end.' });
    if (part.type === 'error') throw part.error;
    // If the SDK finds no completion, it reports neither text nor a finish reason.
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') answered = true;
    if (part.type === 'finish' && !UNFINISHED.has(part.finishReason.unified)) answered = true;
  }
  if (!answered) throw new InvalidResponseDataError({ data: null, message: 'The response contains no completion.' });
}
