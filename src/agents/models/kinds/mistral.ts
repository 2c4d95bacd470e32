import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { withMediaAfterTools, withToolMedia, IMAGES_AND_PDF } from '../tool-media.js';
import { readModelIds } from '../listed-models.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind, type ProviderSettings } from '../model-kind.js';
import type { FieldRules } from '../provider-fields.js';
import { createHash } from 'node:crypto';
import { wrapLanguageModel } from 'ai';

/** Mistral AI by its chat completions. */
@ModelKind('mistral')
export class MistralModels implements LanguageModels {
  readonly ownBaseUrl = 'https://api.mistral.ai/v1';
  readonly fields: FieldRules = { api_key: { isRequired: true } };
  readonly framing = 'deltas';
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

  /** Source: https://docs.mistral.ai/api/endpoint/models */
  listModels({ baseUrl = this.ownBaseUrl, ...settings }: ProviderSettings): Promise<readonly string[]> {
    return readModelIds(baseUrl, settings);
  }
}

/** The only form of ids that Mistral takes: "must be a-z, A-Z, 0-9, with a length of 9". */
const CALL_ID = /^[a-zA-Z0-9]{9}$/;

const AFTER_RESULTS: LanguageModelV4Message = {
  role: 'assistant',
  content: [{ type: 'text', text: 'I have the results.' }],
};

/**
 * A model that gets prompts as Mistral takes them: ids of tool calls in its own form, and no message of the user
 * directly after results of tools ("Unexpected role 'user' after role 'tool'"). A conversation can hold calls of
 * another provider, and results after which a run failed.
 * Source: https://github.com/mistralai/mistral-common, `validator.py`
 */
function withMistralPrompts(model: LanguageModelV4): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => ({ ...params, prompt: withBridges(params.prompt.map(withShortIds)) }),
    },
  });
}

function withBridges(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.flatMap((message, index) =>
    message.role === 'user' && prompt[index - 1]?.role === 'tool' ? [AFTER_RESULTS, message] : [message],
  );
}

function withShortIds(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'assistant') return { ...message, content: message.content.map(withShortId) };
  if (message.role === 'tool') return { ...message, content: message.content.map(withShortId) };
  return message;
}

function withShortId<T extends object>(part: T): T {
  if (!('toolCallId' in part) || typeof part.toolCallId !== 'string' || CALL_ID.test(part.toolCallId)) return part;
  return { ...part, toolCallId: createHash('sha256').update(part.toolCallId).digest('hex').slice(0, 9) };
}
