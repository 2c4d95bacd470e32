import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { APICallError, UnsupportedFunctionalityError, wrapLanguageModel } from 'ai';

/** What the APIs of OpenAI, Azure, Anthropic and Mistral take in messages and in the results of tools. */
export const IMAGES_AND_PDF = /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf)$/;

type Content = Extract<LanguageModelV4ToolResultPart['output'], { type: 'content' }>['value'];
type File = Extract<Content[number], { type: 'file' }>;
type Prompt = LanguageModelV4Message[];

/** Statuses of refusals that have nothing to do with the content of a request. */
const OTHER_REFUSALS: ReadonlySet<number> = new Set([401, 402, 403, 408, 409, 429]);
/** Some servers answer it to a model that does not see, such as llama.cpp. */
const INTERNAL = 500;

/**
 * A model that gets only images and sounds of these types from the results of tools, and a sentence in place of others.
 */
export function withToolMedia(model: LanguageModelV4, types: RegExp): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => ({
        ...params,
        prompt: keepingToolMedia(params.prompt, ({ mediaType }) => types.test(mediaType)),
      }),
    },
  });
}

/** The prompt with the newest images and sounds of results of tools, and a sentence in place of each other one. */
export function withNewestToolMedia(prompt: Prompt, limit: number): Prompt {
  let left = countToolMedia(prompt);
  return left <= limit ? prompt : keepingToolMedia(prompt, () => left-- <= limit);
}

/** True if results of tools in the prompt hold images or sounds. */
export function hasToolMedia(prompt: Prompt): boolean {
  return countToolMedia(prompt) > 0;
}

/** True if the reason of this error can be an image or a sound that the model does not take. */
export function mayRefuseMedia(error: unknown): boolean {
  if (UnsupportedFunctionalityError.isInstance(error)) return true;
  const status = APICallError.isInstance(error) ? error.statusCode : undefined;
  return status !== undefined && status >= 400 && status <= INTERNAL && !OTHER_REFUSALS.has(status);
}

function countToolMedia(prompt: Prompt): number {
  let count = 0;
  keepingToolMedia(prompt, () => {
    count++;
    return true;
  });
  return count;
}

function keepingToolMedia(prompt: Prompt, keeps: (file: File) => boolean): Prompt {
  return prompt.map((message) =>
    message.role !== 'tool'
      ? message
      : {
          ...message,
          content: message.content.map((part) => {
            if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
            const value = part.output.value.map((item): Content[number] =>
              item.type !== 'file' || keeps(item) ? item : leftOut(item),
            );
            return { ...part, output: { ...part.output, value } };
          }),
        },
  );
}

function leftOut({ mediaType }: File): Content[number] {
  return { type: 'text', text: `[A part of this output (${mediaType}) was left out: the model cannot take it.]` };
}
