import type { LanguageModelV4 } from '@ai-sdk/provider';
import { readModelIds } from '../listed-models.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind, type ProviderSettings } from '../model-kind.js';
import { withToolMedia, IMAGES_AND_PDF } from '../tool-media.js';

/** OpenAI itself. */
@ModelKind('openai')
export class OpenAiModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.openai.com/v1';
  readonly files = IMAGES_AND_PDF;
  /** Strict mode takes only schemas without optional properties. */
  readonly schemaOptions = { openai: { strictJsonSchema: false } };

  async openModel({
    baseUrl = this.ownBaseUrl,
    apiKey = '',
    model,
    fetch,
  }: LanguageModelSettings): Promise<LanguageModelV4> {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return withToolMedia(createOpenAI({ baseURL: baseUrl, apiKey, fetch })(model), this.files);
  }

  listModels({ baseUrl = this.ownBaseUrl, ...settings }: ProviderSettings): Promise<readonly string[]> {
    return readModelIds(baseUrl, settings);
  }
}
