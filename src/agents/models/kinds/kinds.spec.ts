import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dynamicTool, isStepCount, jsonSchema, streamText, type ToolSet } from 'ai';
import { Agent } from 'undici';
import { eventually } from '../../../../test/support/eventually.js';
import {
  PROVIDER_SECRET,
  startFakeOpenAI,
  type Behaviour,
  type FakeOpenAI,
} from '../../../../test/support/fake-openai.js';
import type { LanguageModelSettings } from '../model-kind.js';
import { describeProviderFailure } from '../provider-failure.js';
import { createProviderFetch } from '../provider-fetch.js';
import { AnthropicModels } from './anthropic.js';
import { OpenAiCompatibleModels } from './openai-compatible.js';
import { OpenAiModels } from './openai.js';

const API_KEY = 'sk-test-secret-0123456789';
const dispatcher = new Agent();
const fetch = createProviderFetch(dispatcher);
const TOOLS: ToolSet = {
  weather: dynamicTool({
    inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: async () => 'sunny',
  }),
};

const KINDS = {
  'openai-compatible': new OpenAiCompatibleModels(),
  openai: new OpenAiModels(),
  anthropic: new AnthropicModels(),
};

interface Settings extends LanguageModelSettings {
  kind: keyof typeof KINDS;
}

interface RunOptions {
  tools?: ToolSet;
  maxRetries?: number;
  /** Milliseconds until the call is given up. */
  timeout?: number;
  /** Gives the call up. */
  signal?: AbortSignal;
  onDelta?: () => void;
}

let fake: FakeOpenAI;

beforeAll(async () => {
  fake = await startFakeOpenAI({ apiKey: API_KEY });
});

afterAll(async () => {
  await dispatcher.destroy();
  await fake.close();
});

function settings(changes: Partial<Settings> = {}): Settings {
  return { kind: 'openai-compatible', baseUrl: fake.baseUrl, apiKey: API_KEY, model: 'fake-1', fetch, ...changes };
}

/** Asks a model through the agent loop of `ai`; gives what was said and the first thing that went wrong. */
async function ask({ kind, ...model }: Settings, { tools, maxRetries = 0, timeout, onDelta, signal }: RunOptions = {}) {
  const errors: unknown[] = [];
  const result = streamText({
    model: await KINDS[kind].openModel(model),
    prompt: 'Hello?',
    temperature: 0.5,
    tools,
    maxRetries,
    timeout,
    abortSignal: signal,
    stopWhen: isStepCount(3),
    onError: ({ error }) => void errors.push(error),
  });
  const deltas: string[] = [];
  try {
    for await (const part of result.stream) {
      if (part.type !== 'text-delta') continue;
      deltas.push(part.text);
      onDelta?.();
    }
  } catch (error) {
    errors.push(error);
  }
  const usage = await result.totalUsage.then(undefined, (error: unknown) => void errors.push(error));
  return { deltas, usage, error: errors[0] };
}

describe('the model kinds of the service', () => {
  it('streams text and reports usage', async () => {
    const { deltas, usage, error } = await ask(settings());
    expect(error).toBeUndefined();
    expect(deltas).toEqual(['Hello ', 'from ', 'the ', 'fake ', 'model.']);
    expect(usage).toMatchObject({ inputTokens: 11, outputTokens: 7, totalTokens: 18 });
    const { path, headers, body } = fake.requests.at(-1)!;
    expect(path).toBe('/v1/chat/completions');
    expect(headers.authorization).toBe(`Bearer ${API_KEY}`);
    expect(body).toMatchObject({ model: 'fake-1', stream: true, temperature: 0.5 });
    expect(body.stream_options).toEqual({ include_usage: true });
  });

  it('calls tools and gives their results back', async () => {
    fake.script(
      { kind: 'tool-calls', calls: [{ id: 'c1', name: 'weather', arguments: { city: 'Bern' } }] },
      { kind: 'text', deltas: ['It is ', 'sunny.'], delayMs: 1 },
    );
    const { deltas, error } = await ask(settings(), { tools: TOOLS });
    expect(error).toBeUndefined();
    expect(deltas.join('')).toBe('It is sunny.');
    expect(fake.requests.at(-2)?.body.tools).toMatchObject([{ function: { name: 'weather' } }]);
    expect(fake.requests.at(-1)?.body.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: '{"city":"Bern"}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ]);
  });

  it('sends no key of the environment to an address that an organization has chosen', async () => {
    const kept = { ...process.env };
    process.env.OPENAI_API_KEY = process.env.ANTHROPIC_API_KEY = 'sk-of-the-operator';
    process.env.OPENAI_BASE_URL = process.env.ANTHROPIC_BASE_URL = 'http://127.0.0.1:1/elsewhere';
    try {
      for (const kind of ['openai', 'anthropic', 'openai-compatible'] as const) {
        const before = fake.requests.length;
        await ask(settings({ kind, apiKey: undefined }));
        expect(fake.requests).toHaveLength(before + 1);
        expect(JSON.stringify(fake.requests.at(-1)?.headers)).not.toContain('sk-of-the-operator');
      }
      const urls: string[] = [];
      const refusing: typeof globalThis.fetch = async (url) => {
        urls.push(String(url));
        return new Response(null, { status: 401 });
      };
      await ask({ kind: 'openai', model: 'm', fetch: refusing });
      await ask({ kind: 'anthropic', model: 'm', fetch: refusing });
      expect(urls).toEqual(['https://api.openai.com/v1/responses', 'https://api.anthropic.com/v1/messages']);
    } finally {
      process.env = kept;
    }
  });

  it.each([
    ['openai-compatible', ['"image_url":{"url":"data:image/png;base64,aW1hZ2U="}', '"format":"wav"']],
    [
      'openai',
      ['"type":"input_image","image_url":"data:image/png;base64,aW1hZ2U="', 'output (audio/wav) was left out'],
    ],
    ['anthropic', ['"media_type":"image/png","data":"aW1hZ2U="', 'output (audio/wav) was left out']],
  ] as const)('gives %s the images and sounds of results of tools in the form that it takes', async (kind, forms) => {
    let sent = '';
    const refusing: typeof globalThis.fetch = async (_url, init) => {
      sent = String(init?.body);
      return new Response(null, { status: 401 });
    };
    const file = (mediaType: string, data: string) => ({
      type: 'file' as const,
      mediaType,
      data: { type: 'data' as const, data },
    });
    const call = { toolCallId: 'c1', toolName: 'weather' };
    const value = [file('image/png', 'aW1hZ2U='), file('audio/wav', 'c291bmQ=')];
    const result = streamText({
      model: await KINDS[kind].openModel({ ...settings(), fetch: refusing }),
      messages: [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: [{ type: 'tool-call', ...call, input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'content', value } }] },
      ],
      maxRetries: 0,
      onError: () => undefined,
    });
    await result.consumeStream({ onError: () => undefined });
    for (const form of forms) expect(sent).toContain(form);
  });

  it('needs a base URL for a compatible provider', async () => {
    await expect(KINDS['openai-compatible'].openModel({ model: 'm', fetch })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('hangs up when it is aborted', async () => {
    fake.script({ kind: 'hang-after', deltas: ['Hel'] });
    const abort = new AbortController();
    const onDelta = (): void => abort.abort(new DOMException('The time is over.', 'TimeoutError'));
    const { deltas, error } = await ask(settings(), { signal: abort.signal, onDelta });
    expect(deltas).toEqual(['Hel']);
    expect(describeProviderFailure(error).code).toBe('provider_timeout');
    await eventually(() => fake.requests.at(-1)?.abandoned === true);
  });
});

describe('describeProviderFailure with errors of a server', () => {
  it.each<{ behaviour: Behaviour; code: string; retryable: boolean; options?: RunOptions }>([
    { behaviour: { kind: 'status', status: 401 }, code: 'provider_unauthorized', retryable: false },
    { behaviour: { kind: 'status', status: 403 }, code: 'provider_unauthorized', retryable: false },
    { behaviour: { kind: 'status', status: 404 }, code: 'provider_not_found', retryable: false },
    { behaviour: { kind: 'status', status: 400 }, code: 'provider_rejected', retryable: false },
    { behaviour: { kind: 'status', status: 422 }, code: 'provider_rejected', retryable: false },
    { behaviour: { kind: 'status', status: 429 }, code: 'provider_rate_limited', retryable: true },
    {
      behaviour: { kind: 'status', status: 429, headers: { 'retry-after': '30' } },
      code: 'provider_rate_limited',
      retryable: true,
    },
    { behaviour: { kind: 'status', status: 500 }, code: 'provider_unavailable', retryable: true },
    { behaviour: { kind: 'status', status: 503 }, code: 'provider_unavailable', retryable: true },
    { behaviour: { kind: 'hang' }, code: 'provider_timeout', retryable: true, options: { timeout: 50 } },
    {
      behaviour: { kind: 'hang-after', deltas: ['Hel'] },
      code: 'provider_timeout',
      retryable: true,
      options: { timeout: 50 },
    },
    { behaviour: { kind: 'break-after', deltas: [] }, code: 'provider_unavailable', retryable: true },
    { behaviour: { kind: 'break-after', deltas: ['Hel', 'lo'] }, code: 'provider_unavailable', retryable: true },
    { behaviour: { kind: 'cut-after', deltas: ['Hel'] }, code: 'provider_bad_response', retryable: false },
    { behaviour: { kind: 'malformed-after', deltas: ['Hel'] }, code: 'provider_bad_response', retryable: false },
    {
      behaviour: { kind: 'body', body: `<html>${PROVIDER_SECRET}</html>` },
      code: 'provider_bad_response',
      retryable: false,
    },
    {
      behaviour: { kind: 'error-after', deltas: ['Hel'], error: { message: PROVIDER_SECRET } },
      code: 'provider_bad_response',
      retryable: false,
    },
    {
      behaviour: { kind: 'error-after', deltas: ['Hel'], error: { message: PROVIDER_SECRET, code: 503 } },
      code: 'provider_unavailable',
      retryable: true,
    },
  ])('$behaviour is $code', async ({ behaviour, code, retryable, options }) => {
    fake.script(behaviour);
    const { error } = await ask(settings(), options);
    const failure = describeProviderFailure(error);
    expect(failure).toEqual({ code, retryable, message: expect.stringMatching(/^[A-Z].*\.$/) });
    expectNoSecret(failure.message);
  });

  it('knows a redirect that is not followed', async () => {
    fake.script({ kind: 'status', status: 302, headers: { location: 'http://127.0.0.1:1/' } });
    const { error } = await ask(settings());
    expect(describeProviderFailure(error)).toMatchObject({ code: 'provider_bad_response', retryable: false });
  });

  it('describes the last error of failed retries', async () => {
    const tooMany: Behaviour = { kind: 'status', status: 429, headers: { 'retry-after-ms': '1' } };
    fake.script(tooMany, tooMany);
    const { error } = await ask(settings(), { maxRetries: 1 });
    expect(error).toMatchObject({ name: 'AI_RetryError' });
    expect(describeProviderFailure(error)).toMatchObject({ code: 'provider_rate_limited', retryable: true });
  });

  it('distinguishes a wrong key from one that cannot be sent, and shows neither', async () => {
    const wrong = describeProviderFailure((await ask(settings({ apiKey: 'sk-test-secret-wrong' }))).error);
    expect(wrong.code).toBe('provider_unauthorized');
    expectNoSecret(wrong.message);
    const unsendable = describeProviderFailure((await ask(settings({ apiKey: 'sk-test-secret\n-wrong' }))).error);
    expectNoSecret(unsendable.message);
  });

  it('shows no credentials of a URL', async () => {
    const baseUrl = fake.baseUrl.replace('//', '//user:sk-test-secret-in-url@');
    const failure = describeProviderFailure((await ask(settings({ baseUrl }))).error);
    expectNoSecret(failure.message);
  });

  it('reports an address without a server', async () => {
    const gone = await startFakeOpenAI();
    await gone.close();
    const failure = describeProviderFailure((await ask(settings({ baseUrl: gone.baseUrl }))).error);
    expect(failure).toMatchObject({ code: 'provider_unavailable', retryable: true });
    expect(failure.message).not.toContain('127.0.0.1');
  });
});

function expectNoSecret(message: string): void {
  expect(message).not.toContain('sk-test-secret');
  expect(message).not.toContain(PROVIDER_SECRET);
}
