import type { LanguageModelV4 } from '@ai-sdk/provider';
import { readModels } from '../listed-models.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind, type ProviderSettings } from '../model-kind.js';
import { withToolMedia, IMAGES_AND_PDF } from '../tool-media.js';

/** Anthropic itself. */
@ModelKind('anthropic')
export class AnthropicModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.anthropic.com/v1';
  readonly files = IMAGES_AND_PDF;
  readonly schemaOptions = {};

  async openModel({
    baseUrl = this.ownBaseUrl,
    apiKey = '',
    model,
    fetch,
  }: LanguageModelSettings): Promise<LanguageModelV4> {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return withToolMedia(createAnthropic({ baseURL: baseUrl, apiKey, fetch })(model), this.files);
  }

  /** Source: https://docs.claude.com/en/api/models-list */
  listModels({ baseUrl = this.ownBaseUrl, apiKey = '', fetch }: ProviderSettings): Promise<readonly string[]> {
    const headers = { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' };
    return readModels({ url: `${baseUrl}/models?limit=1000`, headers, list: 'data', nameOf: ({ id }) => id }, fetch);
  }
}
