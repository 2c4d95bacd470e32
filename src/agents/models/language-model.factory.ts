import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { DomainError } from '../../core/domain-error.js';
import { withMediaAfterTools } from './media-of-tools.js';
import { withToolMedia } from './tool-media.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from './model-kind.js';

/*
 * Key and address are always passed to the SDK, even when they are not set. Otherwise the SDK reads them from
 * `OPENAI_API_KEY`, `ANTHROPIC_BASE_URL` and similar variables, and sends the operator's key to an address that an
 * organization has chosen.
 */

/** What the APIs take in messages and in the results of tools. Chat completions take it in messages of the user only. */
const FILES_OF_OPENAI = /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf)$/;
const FILES_OF_CHAT_COMPLETIONS = /^(?:image\/(?:png|jpeg|gif|webp)|audio\/(?:wav|mp3|mpeg)|application\/pdf)$/;

/** Any server with OpenAI's chat completions API. `/chat/completions` is appended to the base URL. */
@ModelKind('openai-compatible')
export class OpenAiCompatibleModels implements LanguageModels {
  readonly needsBaseUrl = true;
  readonly files = FILES_OF_CHAT_COMPLETIONS;

  /** @throws DomainError `invalid_request` when there is no base URL */
  openModel({ baseUrl, apiKey = '', model, fetch }: LanguageModelSettings): LanguageModelV4 {
    const name = 'openai-compatible';
    if (baseUrl === undefined)
      throw new DomainError('invalid_request', `A provider of kind ${name} requires a base_url.`);
    const provider = createOpenAICompatible({ name, baseURL: baseUrl, apiKey, fetch, includeUsage: true });
    return withToolMedia(withMediaAfterTools(provider(model)), this.files);
  }
}

/** OpenAI itself. */
@ModelKind('openai')
export class OpenAiModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.openai.com/v1';
  readonly files = FILES_OF_OPENAI;

  openModel({ baseUrl = this.ownBaseUrl, apiKey = '', model, fetch }: LanguageModelSettings): LanguageModelV4 {
    return withToolMedia(createOpenAI({ baseURL: baseUrl, apiKey, fetch })(model), this.files);
  }
}

/** Anthropic itself. */
@ModelKind('anthropic')
export class AnthropicModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.anthropic.com/v1';
  readonly files = FILES_OF_OPENAI;

  openModel({ baseUrl = this.ownBaseUrl, apiKey = '', model, fetch }: LanguageModelSettings): LanguageModelV4 {
    return withToolMedia(createAnthropic({ baseURL: baseUrl, apiKey, fetch })(model), this.files);
  }
}
