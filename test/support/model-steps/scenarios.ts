import { UnsupportedFunctionalityError } from 'ai';
import {
  ABOUT,
  call,
  CITED,
  finish,
  refusal,
  type Scenario,
  SIGNED,
  SOME,
  START,
  text,
  UNKNOWN,
} from './scenario-parts.js';

const TEXTS: Record<string, Scenario> = {
  'a text': { calls: [[START, ABOUT, ...text('0', 'Hello', ', ', 'world'), finish()]] },
  'a text in a step that was begun before': { calls: [[...text('0', 'again'), finish()]], settings: { isOpen: true } },
  'settings and instructions': {
    calls: [[START, ...text('0', 'x'), finish()]],
    settings: { instructions: 'Be brief.', temperature: 0.2, maxOutputTokens: 100 },
  },
  'an answer in a shape': { calls: [[START, ...text('0', '{}'), finish()]], settings: { isShaped: true } },
  'a recorded call': { calls: [[START, ABOUT, ...text('0', 'x'), finish()]], settings: { isRecorded: true } },
  'empty deltas, with and without metadata': {
    calls: [
      [
        { type: 'text-start', id: '0', providerMetadata: { openai: { itemId: 'i' } } },
        { type: 'text-delta', id: '0', delta: '' },
        { type: 'text-delta', id: '0', delta: '', providerMetadata: SIGNED },
        { type: 'text-delta', id: '0', delta: 'x' },
        { type: 'text-end', id: '0', providerMetadata: { openai: { itemId: 'i', phase: 'final' } } },
        finish(),
      ],
    ],
  },
  'texts that use an id again': { calls: [[...text('0', 'a'), ...text('0', 'b'), ...text('1', 'c'), finish()]] },
  'texts at the same time': {
    calls: [
      [
        { type: 'text-start', id: 'a' },
        { type: 'text-start', id: 'b' },
        { type: 'text-delta', id: 'b', delta: '2' },
        { type: 'text-delta', id: 'a', delta: '1' },
        { type: 'text-end', id: 'a' },
        { type: 'text-end', id: 'b' },
        finish('length'),
      ],
    ],
  },
  'a text that was never begun': { calls: [[{ type: 'text-delta', id: '0', delta: 'x' }, finish()]] },
  'a text that ends twice': { calls: [[...text('0', 'x'), { type: 'text-end', id: '0' }, finish()]] },
  'a text that does not end': { calls: [[...SOME, finish()]] },
  'parts after the finish': { calls: [[...text('0', 'x'), finish(), ...text('1', 'late')]] },
  'nothing but a finish': { calls: [[START, finish('other', UNKNOWN)]] },
  'unknown usage': { calls: [[...text('0', 'x'), finish('content-filter', UNKNOWN)]] },
  'metadata that is nested too deeply': {
    calls: [
      [
        {
          type: 'text-start',
          id: '0',
          providerMetadata: { deep: JSON.parse('{"a":'.repeat(150) + '1' + '}'.repeat(150)) },
        },
        { type: 'text-delta', id: '0', delta: 'x' },
        { type: 'text-end', id: '0' },
        finish(),
      ],
    ],
  },
  'citations and pings': {
    calls: [[{ type: 'ping' }, ...SOME, { type: 'ping' }, CITED, finish()]],
  },
  'warnings as the only part': { calls: [[START]] },
  'raw parts and warnings': {
    calls: [[START, { type: 'raw', rawValue: { a: 1 } }, ...text('0', 'x'), finish()]],
  },
};

const THOUGHTS: Record<string, Scenario> = {
  'a thought, then a text': {
    calls: [
      [
        START,
        { type: 'reasoning-start', id: '0', providerMetadata: SIGNED },
        { type: 'reasoning-delta', id: '0', delta: 'Hm' },
        { type: 'reasoning-delta', id: '0', delta: '' },
        { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: SIGNED },
        { type: 'reasoning-end', id: '0', providerMetadata: SIGNED },
        ...text('0', 'So'),
        finish(),
      ],
    ],
  },
  'thoughts that use an id again': {
    calls: [
      [
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-end', id: '0' },
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'b' },
        { type: 'reasoning-end', id: '0' },
        finish(),
      ],
    ],
  },
  'a thought that was never begun': { calls: [[{ type: 'reasoning-delta', id: '0', delta: 'x' }, finish()]] },
  'a thought as a file': {
    calls: [
      [{ type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } }, finish()],
    ],
  },
};

const TOOLS: Record<string, Scenario> = {
  'a tool call with partial input': {
    calls: [
      [
        START,
        { type: 'tool-input-start', id: 'c1', toolName: 'echo', providerMetadata: { openai: { itemId: 'f' } } },
        { type: 'tool-input-delta', id: 'c1', delta: '{"text":' },
        { type: 'tool-input-delta', id: 'c1', delta: '"x"}' },
        { type: 'tool-input-end', id: 'c1' },
        call('c1', 'echo', '{"text":"x"}', { providerMetadata: { openai: { itemId: 'f' } } }),
        finish('tool-calls'),
      ],
    ],
  },
  'tool calls in parallel, in turns': {
    calls: [
      [
        ...text('0', 'Both:'),
        { type: 'tool-input-start', id: 'c1', toolName: 'echo' },
        { type: 'tool-input-start', id: 'c2', toolName: 'add' },
        { type: 'tool-input-delta', id: 'c2', delta: '{"a":1' },
        { type: 'tool-input-delta', id: 'c1', delta: '{}' },
        { type: 'tool-input-delta', id: 'c2', delta: '}' },
        call('c2', 'add', '{"a":1}'),
        call('c1', 'echo', '{}'),
        finish('tool-calls'),
      ],
    ],
  },
  'a tool call without partial input': { calls: [[call('c1', 'echo', '{"text":"x"}'), finish('tool-calls')]] },
  'a tool call without arguments': {
    calls: [[call('c1', 'echo', ''), call('c2', 'add', ' \n'), finish('tool-calls')]],
  },
  'a tool call with invalid JSON': {
    calls: [
      [
        { type: 'tool-input-start', id: 'c1', toolName: 'echo' },
        { type: 'tool-input-delta', id: 'c1', delta: '{"text":' },
        { type: 'tool-input-end', id: 'c1' },
        call('c1', 'echo', '{"text":'),
        finish('tool-calls'),
      ],
    ],
  },
  'a tool call with JSON that is no object': { calls: [[call('c1', 'echo', '[1]'), finish('tool-calls')]] },
  'a tool call whose JSON has a key of the prototype': {
    calls: [[call('c1', 'echo', '{"__proto__":{"a":1}}'), finish('tool-calls')]],
  },
  'a call of an unknown tool': {
    calls: [
      [
        { type: 'tool-input-start', id: 'c1', toolName: 'no such tool' },
        { type: 'tool-input-delta', id: 'c1', delta: '{}' },
        call('c1', 'no such tool', '{}'),
        call('c2', '', '{"a":1}'),
        finish('tool-calls'),
      ],
    ],
  },
  'tool calls with one id': { calls: [[call('c', 'echo', '{}'), call('c', 'add', '{}'), finish('tool-calls')]] },
  'tool calls with unusable ids': { calls: [[call('', 'echo', '{}'), call('ä', 'add', '{}'), finish('tool-calls')]] },
  'too many tool calls': {
    calls: [[...Array.from({ length: 130 }, (_, n) => call(`c${n}`, 'echo', '{}')), finish('tool-calls')]],
  },
  'a tool call that is nested too deeply': {
    calls: [[call('c1', 'echo', '{"a":'.repeat(150) + '1' + '}'.repeat(150)), finish('tool-calls')]],
  },
  'a tool that the provider executes': {
    calls: [
      [
        { type: 'tool-input-start', id: 'w1', toolName: 'web_search', providerExecuted: true, dynamic: true },
        { type: 'tool-input-end', id: 'w1' },
        call('w1', 'web_search', '{"query":"x"}', { providerExecuted: true, dynamic: true }),
        { type: 'tool-result', toolCallId: 'w1', toolName: 'web_search', result: { found: 1 }, dynamic: true },
        call('w2', 'web_search', '', { providerExecuted: true, dynamic: true }),
        {
          type: 'tool-result',
          toolCallId: 'w2',
          toolName: 'web_search',
          result: 'quota',
          isError: true,
          dynamic: true,
        },
        call('w3', 'web_search', '{"query":', { providerExecuted: true, dynamic: true }),
        ...text('0', 'Found.'),
        finish(),
      ],
    ],
  },
  'a request for an approval from the provider': {
    calls: [
      [
        call('m1', 'mcp', '{}', { providerExecuted: true, dynamic: true }),
        { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'm1' },
        finish('tool-calls'),
      ],
    ],
  },
  'a request for an approval of no call': {
    calls: [[...SOME, { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'm1' }, finish()]],
  },
};

const MORE: Record<string, Scenario> = {
  'sources and parts of a provider': {
    calls: [
      [
        ...text('0', 'x'),
        { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.test', title: 'A' },
        { type: 'source', sourceType: 'document', id: 's2', mediaType: 'application/pdf', title: 'B' },
        { type: 'custom', kind: 'openai.compaction', providerMetadata: { openai: { itemId: 'c' } } },
        finish(),
      ],
    ],
  },
  files: {
    calls: [
      [
        {
          type: 'file',
          mediaType: 'image/png',
          data: { type: 'data', data: 'iVBORw0KGgo=' },
          providerMetadata: SIGNED,
        },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
        { type: 'file', mediaType: 'image/png;x=1', data: { type: 'data', data: 'AQID' } },
        ...text('0', 'Here.'),
        finish(),
      ],
    ],
  },
};

const ERRORS: Record<string, Scenario> = {
  'no part at all': { calls: [[]] },
  'an end before any output': { calls: [[START, ABOUT, { type: 'text-start', id: '0' }]] },
  'an end in the middle of a text': { calls: [[...SOME]] },
  'an end after a tool call': { calls: [[call('c1', 'echo', '{}')]] },
  'an interruption that the provider reports': { calls: [[...SOME, finish('interrupted')]] },
  'an error as the first part': { calls: [[{ type: 'error', error: new Error('at once') }]] },
  'an error in the middle of a text': { calls: [[...SOME, { type: 'error', error: new Error('then') }, finish()]] },
  'an error in the input of a tool': {
    calls: [
      [
        { type: 'tool-input-start', id: 'c1', toolName: 'echo' },
        { type: 'tool-input-delta', id: 'c1', delta: '{"te' },
        { type: 'error', error: refusal(529) },
      ],
    ],
  },
  'an error after the finish': { calls: [[...SOME, finish(), { type: 'error', error: new Error('late') }]] },
  'an error that is a document of the provider': {
    calls: [
      [
        ...SOME,
        { type: 'error', error: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } },
      ],
    ],
  },
  'an error with a status in its document': {
    calls: [[...SOME, { type: 'error', error: { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' } }]],
  },
  'an error of OpenAI in its response': {
    calls: [
      [{ type: 'error', error: { response: { error: { code: 'server_error', message: 'Internal server error' } } } }],
    ],
  },
  'an error with its retryability': {
    calls: [[{ type: 'error', error: { error: { message: 'x', status_code: '503', is_retryable: false } } }]],
  },
  'an error that the package of the provider has made': {
    calls: [
      [
        ...SOME,
        { type: 'error', error: { message: 'No.', type: 'server_error', code: 'c', statusCode: 500, data: { a: 1 } } },
      ],
    ],
  },
  'an error that is a text': { calls: [[...SOME, { type: 'error', error: 'no words' }]] },
  'an error that is nothing': { calls: [[...SOME, { type: 'error', error: null }]] },
  'an error with an unusual message': { calls: [[{ type: 'error', error: { message: 7, code: 500 } }]] },
  'a stream that breaks at once': { calls: [[{ does: 'break', error: new Error('broken') }]] },
  'a stream that breaks in a text': { calls: [[...SOME, { does: 'break', error: new TypeError('terminated') }]] },
  'a stream that breaks in the input of a tool': {
    calls: [
      [
        { type: 'tool-input-start', id: 'c1', toolName: 'echo' },
        { type: 'tool-input-delta', id: 'c1', delta: '{"te' },
        { does: 'break', error: new DOMException('The operation was aborted.', 'AbortError') },
      ],
    ],
  },
  'a refusal': { calls: [{ refuses: refusal(401) }] },
  'a refusal that says how long to wait': {
    calls: [{ refuses: refusal(429, { 'retry-after-ms': '1' }) }, [...text('0', 'then'), finish()]],
  },
  'three refusals': { calls: [1, 2, 3].map((ms) => ({ refuses: refusal(503, { 'retry-after-ms': `${ms}` }) })) },
  'a refusal with a substitute': {
    calls: [{ refuses: refusal(503, { 'retry-after-ms': '1' }) }],
    settings: { hasSubstitute: true },
  },
  'a refusal in other words': { calls: [{ refuses: new UnsupportedFunctionalityError({ functionality: 'tools' }) }] },
  'a refusal that is no error': { calls: [{ refuses: { message: 'odd' } }] },
};

const ABORTS: Record<string, Scenario> = {
  'an abort before the model answers': { calls: ['hangs'] },
  'an abort before the first part': { calls: [[{ does: 'abort' }]] },
  'an abort in a text': { calls: [[...SOME, { does: 'abort' }]] },
  'an abort in the input of a tool': {
    calls: [
      [
        { type: 'tool-input-start', id: 'c1', toolName: 'echo' },
        { type: 'tool-input-delta', id: 'c1', delta: '{"te' },
        { does: 'abort' },
      ],
    ],
  },
  'an abort after the finish': { calls: [[...SOME, finish(), { does: 'abort' }]] },
  'a first part that comes too late': {
    calls: [[START, ABOUT, { type: 'text-start', id: '0' }, { does: 'hang' }]],
    settings: { firstChunkTimeoutMs: 50 },
  },
};

export const SCENARIOS: Record<string, Scenario> = { ...TEXTS, ...THOUGHTS, ...TOOLS, ...MORE, ...ERRORS, ...ABORTS };

/** Asked with `CONVERSATION`. */
export const CONVERSATIONS: Record<string, Scenario> = {
  'an answer': { calls: [[...text('0', 'x'), finish()]], settings: { instructions: 'Be brief.' } },
  'a refusal of images': { calls: [{ refuses: refusal(400) }, [...text('0', 'x'), finish()]] },
};
