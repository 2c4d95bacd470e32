import type { LanguageModelV4 } from '@ai-sdk/provider';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from '../model-kind.js';
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
}
