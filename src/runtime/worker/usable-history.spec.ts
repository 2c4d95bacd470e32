import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, it } from '@jest/globals';
import { convertToModelMessages, streamText, type UIMessage } from 'ai';
import { NO_TEXT, usableMessageParts } from './usable-history.js';

/** The input that OpenAI receives for this conversation. */
async function inputOf(conversation: Pick<UIMessage, 'role' | 'parts'>[]): Promise<unknown> {
  const sent = Promise.withResolvers<{ input: unknown }>();
  const fetch: typeof globalThis.fetch = async (_, request) => {
    sent.resolve(JSON.parse(String(request?.body)) as { input: unknown });
    return new Response('{}', { status: 400 });
  };
  const messages = await convertToModelMessages(
    conversation.map(({ role, parts }) => ({ role, parts: usableMessageParts(role, parts) })),
    { ignoreIncompleteToolCalls: true },
  );
  const model = createOpenAI({ apiKey: 'k', fetch })('gpt-5');
  await streamText({ model, messages, maxRetries: 0, onError: () => undefined }).consumeStream();
  return (await sent.promise).input;
}

const userMessage = (text: string): Pick<UIMessage, 'role' | 'parts'> => ({
  role: 'user',
  parts: [{ type: 'text', text }],
});

describe('a stored message', () => {
  it('has no references to records that the provider may not have kept', async () => {
    const openai = { itemId: 'rs_1', reasoningEncryptedContent: null };
    const parts: UIMessage['parts'] = [
      { type: 'step-start' },
      { type: 'reasoning', id: 'r', text: 'Hm', providerMetadata: { openai } },
      { type: 'text', text: 'So', providerMetadata: { openai: { itemId: 'msg_1' } } },
      {
        type: 'dynamic-tool',
        toolName: 'echo',
        toolCallId: 'c1',
        state: 'output-available',
        input: {},
        output: 'done',
        callProviderMetadata: { openai: { itemId: 'fc_1' } },
      },
    ];
    expect(await inputOf([userMessage('a'), { role: 'assistant', parts }, userMessage('b')])).toEqual([
      { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
      { role: 'assistant', content: 'So' },
      { type: 'function_call', call_id: 'c1', name: 'echo', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'done' },
      { role: 'user', content: [{ type: 'input_text', text: 'b' }] },
    ]);
  });

  it('keeps the metadata of other providers', () => {
    const providerMetadata = { anthropic: { signature: 's' } };
    const thought = { type: 'reasoning', id: 'r', text: '', providerMetadata };
    expect(usableMessageParts('assistant', [thought])).toEqual([thought]);
  });

  it.each([
    ['user', ' \n', [{ type: 'text', text: NO_TEXT }]],
    ['user', '', [{ type: 'text', text: NO_TEXT }]],
    ['assistant', '\n', []],
  ] as const)('of role %s has no blank text (%j)', (role, text, parts) => {
    expect(usableMessageParts(role, [{ type: 'text', text }])).toEqual(parts);
  });
});
