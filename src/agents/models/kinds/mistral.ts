import type { LanguageModelV4 } from '@ai-sdk/provider';
import { withMediaAfterTools } from '../media-of-tools.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from '../model-kind.js';
import type { FieldRules } from '../provider-fields.js';
import { withToolMedia } from '../tool-media.js';
import { IMAGES_AND_PDF } from './media-types.js';
import { withMistralPrompts } from './mistral-prompt.js';

/** Mistral AI by its chat completions. */
@ModelKind('mistral')
export class MistralModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.mistral.ai/v1';
  readonly fields: FieldRules = { api_key: { isRequired: true } };
  readonly files = IMAGES_AND_PDF;
  readonly schemaOptions = {};

  async openModel({
    baseUrl = this.ownBaseUrl,
    apiKey = '',
    model,
    fetch,
  }: LanguageModelSettings): Promise<LanguageModelV4> {
    const { createMistral } = await import('@ai-sdk/mistral');
    const mistral = createMistral({ baseURL: baseUrl, apiKey, fetch });
    return withToolMedia(withMediaAfterTools(withMistralPrompts(mistral(model))), this.files);
  }
}
