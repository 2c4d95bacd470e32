import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider';
import { wrapLanguageModel } from 'ai';

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
