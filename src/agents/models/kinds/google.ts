import type { LanguageModelV4 } from '@ai-sdk/provider';
import { withMediaAfterTools, withToolMedia } from '../tool-media.js';
import { readModels } from '../listed-models.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind, type ProviderSettings } from '../model-kind.js';
import type { FieldRules } from '../provider-fields.js';

/**
 * Gemini by the Gemini API (`generateContent`).
 * Sources: https://ai.google.dev/gemini-api/docs/image-understanding, …/audio, …/video-understanding
 */
@ModelKind('google')
export class GoogleModels implements LanguageModels {
  readonly ownBaseUrl = 'https://generativelanguage.googleapis.com/v1beta';
  readonly fields: FieldRules = { api_key: { isRequired: true } };
  readonly files =
    /^(?:image\/(?:png|jpeg|webp|heic|heif)|audio\/(?:wav|mp3|mpeg|aiff|aac|ogg|flac)|video\/(?:mp4|mpeg|quicktime|webm|3gpp)|application\/pdf)$/;
  readonly schemaOptions = {};

  async openModel({
    baseUrl = this.ownBaseUrl,
    apiKey = '',
    model,
    fetch,
  }: LanguageModelSettings): Promise<LanguageModelV4> {
    const { createGoogle } = await import('@ai-sdk/google');
    // For models before Gemini 3, the SDK makes a function response of each text of a result, and none of its media.
    return withToolMedia(withMediaAfterTools(createGoogle({ baseURL: baseUrl, apiKey, fetch })(model)), this.files);
  }

  /** Source: https://ai.google.dev/api/models#method:-models.list */
  listModels({ baseUrl = this.ownBaseUrl, apiKey = '', fetch }: ProviderSettings): Promise<readonly string[]> {
    const url = `${baseUrl}/models?pageSize=1000`;
    return readModels({ url, headers: { 'x-goog-api-key': apiKey }, list: 'models', nameOf }, fetch);
  }
}

/** Undefined for a model that does not generate content, such as one for embeddings. */
function nameOf({ name, supportedGenerationMethods: methods }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof name !== 'string' || !Array.isArray(methods) || !methods.includes('generateContent')) return undefined;
  return name.replace(/^models\//, '');
}
