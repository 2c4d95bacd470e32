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

type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>;
type UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type FilePart = Extract<UserPart, { type: 'file' }>;

/**
 * A model whose API takes only text in the results of tools, as OpenAI's chat completions do: images and sounds follow
 * in a message of the user. The SDK would send them as base64 text.
 */
export function withMediaAfterTools(model: LanguageModelV4): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => ({ ...params, prompt: params.prompt.flatMap(separated) }),
    },
  });
}

function separated(message: LanguageModelV4Message): LanguageModelV4Message[] {
  if (message.role !== 'tool') return [message];
  const media: UserPart[] = [];
  const content = message.content.map((part) => (part.type === 'tool-result' ? withoutMedia(part, media) : part));
  const tools: ToolMessage = { ...message, content };
  return media.length === 0 ? [tools] : [tools, { role: 'user', content: media }];
}

/** @param media gets the images and sounds, with the tool that they come from */
function withoutMedia(part: LanguageModelV4ToolResultPart, media: UserPart[]): LanguageModelV4ToolResultPart {
  const { output, toolName } = part;
  if (output.type !== 'content') return part;
  const texts = output.value.flatMap((item) => (item.type === 'text' ? [item.text] : []));
  const files = output.value.flatMap((item): FilePart[] =>
    item.type === 'file' ? [{ type: 'file', data: item.data, mediaType: item.mediaType }] : [],
  );
  if (files.length > 0) media.push({ type: 'text', text: `From the result of the tool ${toolName}:` }, ...files);
  const note = files.length === 0 ? [] : [`[${files.length} of its parts follow in the next message.]`];
  return { ...part, output: { type: 'text', value: [...texts, ...note].join('\n') } };
}
