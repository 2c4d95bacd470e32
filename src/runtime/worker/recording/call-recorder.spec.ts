import { describe, expect, it } from '@jest/globals';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describeProviderFailure } from '../../../agents/models/provider-failure.js';
import type { RecordedCall } from '../../runs/records/model-recordings.js';
import { CallRecorder } from './call-recorder.js';
import type { SentRequest } from './recorded-request.js';

const SECRET = 'words of a person';
const BYTES = new Uint8Array([1, 2, 3, 4]);
const FILE = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: BYTES } } as const;
const RESULT = { type: 'tool-result', toolName: 'look', toolCallId: 'c1' } as const;

const REFUSAL = new Error('busy');

const SENT: SentRequest = {
  prompt: [
    { role: 'system', content: SECRET },
    { role: 'user', content: [{ type: 'text', text: SECRET }, FILE] },
    { role: 'user', content: [{ ...FILE, data: { type: 'url', url: new URL(`https://a.example/${SECRET}`) } }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: SECRET },
        { type: 'tool-call', toolName: 'look', toolCallId: 'c1', input: { [SECRET]: SECRET } },
      ],
    },
    {
      role: 'tool',
      content: [
        { ...RESULT, output: { type: 'content', value: [{ type: 'text', text: SECRET }, FILE] } },
        { ...RESULT, output: { type: 'execution-denied', reason: SECRET } },
      ],
    },
  ],
  tools: [{ type: 'function', name: 'look', description: SECRET, inputSchema: { type: 'object', title: SECRET } }],
  responseFormat: { type: 'json', schema: { type: 'object', description: SECRET } },
  providerOptions: { fake: { user: SECRET } },
};
const RECEIVED: LanguageModelV4StreamPart[] = [
  { type: 'response-metadata', id: 'r1', modelId: 'large-1' },
  { type: 'text-start', id: 'a' },
  { type: 'reasoning-start', id: 'b' },
  { type: 'text-delta', id: 'a', delta: 'words of ' },
  { type: 'reasoning-delta', id: 'b', delta: SECRET },
  { type: 'text-delta', id: 'a', delta: 'a person' },
  { type: 'tool-call', toolCallId: SECRET, toolName: SECRET, input: SECRET },
  { ...FILE, data: { type: 'data', data: Buffer.from(BYTES).toString('base64') } },
];

async function recordingOf(recording: RecordedCall['recording'], organization = 'o'): Promise<RecordedCall> {
  const recorder = new CallRecorder(organization, recording, null);
  recorder.beginTry(SENT);
  for (const part of RECEIVED) recorder.receive(part);
  return JSON.parse(recorder.toJson(null) ?? 'null') as RecordedCall;
}

describe('a recorded call', () => {
  it('has no text without the texts, wherever it stands', async () => {
    const json = JSON.stringify(await recordingOf('redacted'));
    expect(json).not.toContain('person');
    expect(json).not.toContain(encodeURIComponent('of a'));
  });

  it('has each part as it was sent and answered', async () => {
    const { request, response } = await recordingOf('full');
    expect(request.messages.map(({ parts }) => parts.map(({ type }) => type))).toEqual([
      ['text', 'file'],
      ['file'],
      ['reasoning', 'tool-call'],
      ['tool-result', 'tool-result'],
    ]);
    expect(request.settings).toMatchObject({ response_format: 'json', provider_options: { size: expect.any(Number) } });
    expect(response).toMatchObject({ response_id: 'r1', model: 'large-1', finish_reason: null });
    expect(response.parts.map(({ type, text }) => [type, text])).toEqual([
      ['text', SECRET],
      ['reasoning', SECRET],
      ['tool-call', SECRET],
      ['file', null],
    ]);
  });

  it('has the size and the hash of the bytes of a file, and never the bytes', async () => {
    const { request, response } = await recordingOf('full');
    const [, sent] = request.messages[0]?.parts ?? [];
    expect(sent).toMatchObject({ type: 'file', media_type: 'image/png', size: 4, text: null });
    expect(response.parts.at(-1)).toEqual(sent);
    expect(request.messages[3]?.parts[0]?.text).toBe(
      JSON.stringify([
        { type: 'text', text: SECRET },
        { type: 'file', mediaType: 'image/png', bytes: 4 },
      ]),
    );
  });

  it('has hashes that are equal for equal texts of one organization', async () => {
    const hashOf = ({ request }: RecordedCall) => request.instructions?.hash;
    const [redacted, full] = [await recordingOf('redacted'), await recordingOf('full')];
    expect(hashOf(redacted)).toBe(hashOf(full));
    expect(redacted.response.parts[0]?.hash).toBe(hashOf(full));
    expect(hashOf(await recordingOf('full', 'other'))).not.toBe(hashOf(full));
  });

  it('has a tool call once, and the arguments so far of one that was broken off', async () => {
    const recorder = new CallRecorder('o', 'full', null);
    recorder.beginTry(SENT);
    const parts: LanguageModelV4StreamPart[] = [
      { type: 'tool-input-start', id: 'c1', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"at":' },
      { type: 'tool-input-delta', id: 'c1', delta: '1}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{"at":1}' },
      { type: 'tool-input-start', id: 'c2', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c2', delta: '{"at' },
    ];
    for (const part of parts) recorder.receive(part);
    const { response } = JSON.parse(recorder.toJson('provider_unavailable') ?? 'null') as RecordedCall;
    expect(response.parts.map(({ type, tool_call_id, text }) => [type, tool_call_id, text])).toEqual([
      ['tool-call', 'c1', '{"at":1}'],
      ['tool-call', 'c2', '{"at'],
    ]);
  });

  it('has no credential of this service', () => {
    const recorder = new CallRecorder('o', 'full', null);
    const key = `sbx_${'a'.repeat(49)}`;
    recorder.beginTry({ prompt: [{ role: 'system', content: `The key is ${key}.` }] });
    expect(recorder.toJson(null)).toContain('The key is ***.');
  });

  it.each([
    ['the error of the call for its last try', false, 'interrupted'],
    ['its own error for a try that was to be repeated', true, describeProviderFailure(REFUSAL).code],
  ])('has %s', (_what, isRepeated, expected) => {
    const recorder = new CallRecorder('o', 'full', null);
    recorder.beginTry(SENT);
    recorder.failTry(REFUSAL);
    if (isRepeated) recorder.settleTry();
    const { tries } = JSON.parse(recorder.toJson('interrupted') ?? 'null') as RecordedCall;
    expect(tries.map(({ error_code }) => error_code)).toEqual([expected]);
  });

  it('does not exist without a request', () => {
    expect(new CallRecorder('o', 'full', null).toJson('provider_unavailable')).toBeUndefined();
  });
});
