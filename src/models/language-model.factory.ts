import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { DomainError } from '../common/domain-error.js';
import { OWN_BASE_URLS, type ProviderKind } from './provider-kind.js';

/** What is needed to call one model of one provider. */
export interface LanguageModelSettings {
  kind: ProviderKind;
  /** The root below which the API lies: for `openai-compatible`, what `/chat/completions` hangs under. */
  baseUrl?: string;
  apiKey?: string;
  /** The model's name as the provider knows it. */
  model: string;
  /** Always given: the one of Node goes past the address policy. */
  fetch: typeof globalThis.fetch;
}

/**
 * Makes a model that can be called.
 *
 * Key and address are always given to the SDK, even when they are not set: what is missing it would take from
 * `OPENAI_API_KEY`, `ANTHROPIC_BASE_URL` and the like, and so send the operator's key to an address that an organization
 * has chosen.
 *
 * @throws DomainError `invalid_request` when an `openai-compatible` provider has no base URL
 */
export function createLanguageModel(settings: LanguageModelSettings): LanguageModelV4 {
  const { kind, baseUrl, apiKey = '', model, fetch } = settings;
  switch (kind) {
    case 'openai-compatible':
      if (baseUrl === undefined)
        throw new DomainError('invalid_request', `A provider of kind ${kind} needs a base_url.`);
      return createOpenAICompatible({ name: kind, baseURL: baseUrl, apiKey, fetch, includeUsage: true })(model);
    case 'openai':
      return createOpenAI({ baseURL: baseUrl ?? OWN_BASE_URLS.openai, apiKey, fetch })(model);
    case 'anthropic':
      return createAnthropic({ baseURL: baseUrl ?? OWN_BASE_URLS.anthropic, apiKey, fetch })(model);
  }
}
