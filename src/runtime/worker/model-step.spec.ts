import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { UIMessageChunk } from 'ai';
import { CONVERSATION, QUESTION } from '../../../test/support/model-steps/conversation.js';
import { type Played, playScenario } from '../../../test/support/model-steps/play-scenario.js';
import { finish, START, text } from '../../../test/support/model-steps/scenario-parts.js';
import { CONVERSATIONS, SCENARIOS } from '../../../test/support/model-steps/scenarios.js';
import { scriptedModel } from '../../../test/support/model-steps/scripted-model.js';
import { MAX_VALUE_BYTES } from './answer-limits.js';
import { streamModelStep } from './model-step.js';
import { CallRecorder } from './recording/call-recorder.js';
import type { RunAnswer } from './run-answer.js';
import type { RunFiles } from './run-files.js';

/**
 * What each scenario did on the day when the provider's stream was read by `streamText` of the AI SDK: the order of the
 * fields is that of the stream. `UPDATE_MODEL_STEPS=1` writes it again.
 */
const RECORDED = 'test/support/model-steps/recorded.json';
const isUpdate = process.env['UPDATE_MODEL_STEPS'] === '1';
const recorded = isUpdate ? {} : (JSON.parse(await readFile(RECORDED, 'utf8')) as Record<string, Partial<Played>>);

/** The same as recorded, with the fields in the same order. */
function expectAsRecorded(name: string, played: Partial<Played>): void {
  if (isUpdate) recorded[name] = played;
  expect(JSON.stringify(played, null, 1)).toBe(JSON.stringify(recorded[name], null, 1));
}

/** What becomes of each part of a model's stream. */
async function follow(
  ...parts: LanguageModelV4StreamPart[]
): Promise<{ pushed: UIMessageChunk[]; skipped: number; recorded: LanguageModelV4StreamPart[] }> {
  const followed = { pushed: [] as UIMessageChunk[], skipped: 0, recorded: [] as LanguageModelV4StreamPart[] };
  const answer = {
    hasOpenStep: true,
    parts: () => [],
    save: async () => undefined,
    push: async (chunk: UIMessageChunk) => void followed.pushed.push(chunk),
    skip: () => void followed.skipped++,
  };
  const recorder = new CallRecorder('org', 'full', null);
  recorder.receive = (part) => void followed.recorded.push(part);
  const input = {
    model: scriptedModel([parts], () => undefined).model,
    asking: undefined,
    maxOutputTokens: null,
    firstChunkTimeoutMs: Infinity,
    hasSubstitute: false,
    instructions: '',
    messages: QUESTION,
    tools: {},
    temperature: null,
    files: {} as RunFiles,
    recorder,
    signal: new AbortController().signal,
  };
  const watch = { onFirstChunk: () => undefined, onRetry: () => undefined };
  await streamModelStep(input, answer as unknown as RunAnswer, watch);
  return followed;
}

describe('a step of a model', () => {
  afterAll(async () => {
    if (isUpdate) await writeFile(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
  });

  it.each(Object.entries(SCENARIOS))('with %s is as recorded', async (name, scenario) => {
    const { asked, ...played } = await playScenario(scenario, QUESTION);
    expectAsRecorded(name, { ...played, ...(scenario.settings && { asked }) });
  });

  it.each(Object.entries(CONVERSATIONS))(
    'that follows a conversation, with %s, is as recorded',
    async (name, scenario) => {
      const urls = { 'application/pdf': [/^https:/] };
      expectAsRecorded(`${name} after a conversation`, await playScenario(scenario, CONVERSATION, urls));
    },
  );

  it('counts each part that adds nothing to the answer', async () => {
    const nothing = Array.from({ length: 40 }, () => ({ type: 'text-delta' as const, id: '0', delta: '' }));
    const { pushed, skipped } = await follow(START, ...text('0', 'x'), ...nothing, finish());
    expect(pushed).toHaveLength(3);
    expect(skipped).toBe(nothing.length + 2);
  });

  it('records no arguments of a call that is refused because of them', async () => {
    const { pushed, recorded } = await follow(
      { type: 'tool-input-start', id: 'c1', toolName: 'echo' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"a":"' },
      { type: 'tool-input-delta', id: 'c1', delta: 'x'.repeat(MAX_VALUE_BYTES) },
      { type: 'tool-input-delta', id: 'c1', delta: 'y'.repeat(MAX_VALUE_BYTES) },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'echo', input: `"${'x'.repeat(MAX_VALUE_BYTES)}"` },
      finish('tool-calls'),
    );
    expect(pushed.at(-1)).toMatchObject({ type: 'tool-output-error' });
    expect(recorded).toEqual([
      { type: 'tool-input-start', id: 'c1', toolName: 'echo' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"a":"' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'echo', input: '{}' },
      finish('tool-calls'),
    ]);
  });

  it('names the address of a file, which it does not download', async () => {
    let requests = 0;
    const server = createServer((_request, response) => response.end(String(++requests))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/made.png`);
    const file = (address: URL) =>
      ({ type: 'file', mediaType: 'image/png', data: { type: 'url', url: address } }) as const;
    try {
      const { pushed } = await follow(file(url), file(new URL('javascript:alert(1)')), finish());
      expect(pushed).toEqual([{ type: 'source-url', sourceId: expect.any(String), url: url.href }]);
      expect(requests).toBe(0);
    } finally {
      server.close();
    }
  });

  it('is refused with a file at an address that its provider does not take', async () => {
    const { end } = await playScenario({ calls: [] }, CONVERSATION);
    expect(end).toMatchObject({
      thrown: { name: 'AI_UnsupportedFunctionalityError' },
      failure: { code: 'provider_rejected' },
    });
  });

  it('is not asked for without a message', async () => {
    expectAsRecorded('no message', await playScenario({ calls: [] }, []));
  });
});
