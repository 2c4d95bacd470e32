import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from '../../../src/agents/models/model-kind.js';

/** The models of a company's own gateway. It speaks OpenAI's protocol and wants to know which service calls. */
@ModelKind('acme')
export class AcmeModels implements LanguageModels {
  readonly ownBaseUrl = 'https://models.acme.example/v1';

  openModel({ baseUrl = this.ownBaseUrl, apiKey = '', model, fetch }: LanguageModelSettings): LanguageModelV4 {
    const headers = { 'x-acme-service': 'signalbox' };
    return createOpenAICompatible({ name: 'acme', baseURL: baseUrl, apiKey, headers, fetch, includeUsage: true })(
      model,
    );
  }
}
