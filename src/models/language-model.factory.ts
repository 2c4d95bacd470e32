import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { DomainError } from '../common/domain-error.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from './model-kind.js';

/*
 * Key and address are always passed to the SDK, even when they are not set. Otherwise the SDK reads them from
 * `OPENAI_API_KEY`, `ANTHROPIC_BASE_URL` and similar variables, and sends the operator's key to an address that an
 * organization has chosen.
 */

/** Any server with OpenAI's chat completions API. `/chat/completions` is appended to the base URL. */
@ModelKind('openai-compatible')
export class OpenAiCompatibleModels implements LanguageModels {
  readonly needsBaseUrl = true;

  /** @throws DomainError `invalid_request` when there is no base URL */
  openModel({ baseUrl, apiKey = '', model, fetch }: LanguageModelSettings): LanguageModelV4 {
    const name = 'openai-compatible';
    if (baseUrl === undefined)
      throw new DomainError('invalid_request', `A provider of kind ${name} requires a base_url.`);
    return createOpenAICompatible({ name, baseURL: baseUrl, apiKey, fetch, includeUsage: true })(model);
  }
}

/** OpenAI itself. */
@ModelKind('openai')
export class OpenAiModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.openai.com/v1';

  openModel({ baseUrl = this.ownBaseUrl, apiKey = '', model, fetch }: LanguageModelSettings): LanguageModelV4 {
    return createOpenAI({ baseURL: baseUrl, apiKey, fetch })(model);
  }
}

/** Anthropic itself. */
@ModelKind('anthropic')
export class AnthropicModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.anthropic.com/v1';

  openModel({ baseUrl = this.ownBaseUrl, apiKey = '', model, fetch }: LanguageModelSettings): LanguageModelV4 {
    return createAnthropic({ baseURL: baseUrl, apiKey, fetch })(model);
  }
}
