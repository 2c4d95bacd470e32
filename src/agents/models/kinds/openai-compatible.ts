import type { LanguageModelV4 } from '@ai-sdk/provider';
import { DomainError } from '../../../core/domain-error.js';
import { withMediaAfterTools } from '../media-of-tools.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from '../model-kind.js';
import { withToolMedia } from '../tool-media.js';

/** Any server with OpenAI's chat completions API. `/chat/completions` is appended to the base URL. */
@ModelKind('openai-compatible')
export class OpenAiCompatibleModels implements LanguageModels {
  readonly needsBaseUrl = true;
  readonly files = /^(?:image\/(?:png|jpeg|gif|webp)|audio\/(?:wav|mp3|mpeg)|application\/pdf)$/;

  /** @throws DomainError `invalid_request` when there is no base URL */
  async openModel({ baseUrl, apiKey = '', model, fetch }: LanguageModelSettings): Promise<LanguageModelV4> {
    const name = 'openai-compatible';
    if (baseUrl === undefined)
      throw new DomainError('invalid_request', `A provider of kind ${name} requires a base_url.`);
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const provider = createOpenAICompatible({ name, baseURL: baseUrl, apiKey, fetch, includeUsage: true });
    return withToolMedia(withMediaAfterTools(provider(model)), this.files);
  }
}
