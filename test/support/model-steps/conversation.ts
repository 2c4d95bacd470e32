import type { UIMessage } from 'ai';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const result = (content: object[]): object => ({ content });
const called = (toolCallId: string, toolName: string, more: object): UIMessage['parts'][number] =>
  ({ type: 'dynamic-tool', toolCallId, toolName, input: { n: 1 }, ...more }) as UIMessage['parts'][number];

/** A question, as short as it can be. */
export const QUESTION: UIMessage[] = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];

/** A conversation with everything that a transcript can hold. */
export const CONVERSATION: UIMessage[] = [
  { id: 's', role: 'system', parts: [{ type: 'text', text: 'Left out' }] },
  {
    id: 'm1',
    role: 'user',
    parts: [
      { type: 'text', text: 'Look' },
      { type: 'text', text: '' },
      { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${PNG}`, filename: 'dot.png' },
      { type: 'file', mediaType: 'application/octet-stream', url: `data:application/octet-stream;base64,${PNG}` },
      { type: 'file', mediaType: 'application/pdf', url: 'https://files.test/a.pdf' },
    ],
  },
  {
    id: 'm2',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', id: 'r', text: 'Hm', state: 'done', providerMetadata: { anthropic: { signature: 's' } } },
      { type: 'text', text: 'Both:', providerMetadata: { openai: { itemId: 'i' } } },
      called('c1', 'echo', { state: 'output-available', output: result([{ type: 'text', text: 'one' }]) }),
      called('c2', 'gone', {
        state: 'output-available',
        output: result([{ type: 'image', data: PNG, mimeType: 'image/png' }]),
        callProviderMetadata: { openai: { itemId: 'f' } },
      }),
      called('c3', 'add', { state: 'output-error', errorText: 'It failed.' }),
      called('c4', 'add', { state: 'input-available' }),
      called('c5', 'add', {
        state: 'output-denied',
        approval: { id: 'a', approved: false, reason: 'Too dear.' },
      }),
      called('c6', 'add', { state: 'approval-requested', approval: { id: 'b' } }),
      called('c7', 'echo', { state: 'output-available', output: { n: 2 }, approval: { id: 'c', approved: true } }),
      called('w1', 'web_search', { state: 'output-available', output: { found: 1 }, providerExecuted: true }),
      { type: 'step-start' },
      { type: 'source-url', sourceId: 's1', url: 'https://a.test' },
      { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${PNG}` },
      { type: 'data-note', data: { a: 1 } },
      { type: 'text', text: 'Done.' },
    ],
  },
  { id: 'm3', role: 'user', parts: [{ type: 'text', text: 'And now?' }] },
];
