import type { LanguageModelV4 } from '@ai-sdk/provider';
import { DomainError } from '../../../core/domain-error.js';
import { withMediaAfterTools, withToolMedia } from '../tool-media.js';
import { readModelIds } from '../listed-models.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind, type ProviderSettings } from '../model-kind.js';

/** Any server with OpenAI's chat completions API. `/chat/completions` is appended to the base URL. */
@ModelKind('openai-compatible')
export class OpenAiCompatibleModels implements LanguageModels {
  readonly needsBaseUrl = true;
  readonly framing = 'deltas';
  readonly files = /^(?:image\/(?:png|jpeg|gif|webp)|audio\/(?:wav|mp3|mpeg)|application\/pdf)$/;

  /** @throws DomainError `invalid_request` when there is no base URL */
  async openModel({ baseUrl, apiKey = '', model, fetch }: LanguageModelSettings): Promise<LanguageModelV4> {
    const baseURL = required(baseUrl);
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const provider = createOpenAICompatible({ name: 'openai-compatible', baseURL, apiKey, fetch, includeUsage: true });
    return withToolMedia(withMediaAfterTools(provider(model)), this.files);
  }

  /** @throws DomainError `invalid_request` when there is no base URL */
  async listModels({ baseUrl, ...settings }: ProviderSettings): Promise<readonly string[]> {
    return readModelIds(required(baseUrl), settings);
  }
}

function required(baseUrl: string | undefined): string {
  if (baseUrl !== undefined) return baseUrl;
  throw new DomainError('invalid_request', 'A provider of kind openai-compatible requires a base_url.');
}
