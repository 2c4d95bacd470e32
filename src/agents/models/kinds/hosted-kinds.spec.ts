import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dynamicTool, jsonSchema, type ModelMessage, streamText } from 'ai';
import type { LanguageModels, LanguageModelSettings } from '../model-kind.js';
import { AzureModels } from './azure.js';
import { BedrockModels } from './bedrock.js';
import { GoogleModels } from './google.js';
import { MistralModels } from './mistral.js';

const OF_THE_OPERATOR = 'of-the-operator';
const VARIABLES = {
  GOOGLE_GENERATIVE_AI_API_KEY: OF_THE_OPERATOR,
  MISTRAL_API_KEY: OF_THE_OPERATOR,
  AZURE_API_KEY: OF_THE_OPERATOR,
  AZURE_RESOURCE_NAME: OF_THE_OPERATOR,
  AWS_BEARER_TOKEN_BEDROCK: OF_THE_OPERATOR,
  AWS_ACCESS_KEY_ID: OF_THE_OPERATOR,
  AWS_SECRET_ACCESS_KEY: OF_THE_OPERATOR,
  AWS_SESSION_TOKEN: OF_THE_OPERATOR,
  AWS_REGION: OF_THE_OPERATOR,
  AWS_ENDPOINT_URL: `http://${OF_THE_OPERATOR}`,
  AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `http://${OF_THE_OPERATOR}`,
};
const CONTAINER = { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1/', AWS_PROFILE: OF_THE_OPERATOR };
const AWS = { region: 'eu-central-1', accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' };

const TOOLS = {
  look: dynamicTool({ inputSchema: jsonSchema({ type: 'object' }), execute: async () => 'seen' }),
};

interface Sent {
  url: string;
  headers: string;
  body: string;
}

let kept: NodeJS.ProcessEnv;
let sent: Sent[];

beforeEach(() => {
  kept = { ...process.env };
  sent = [];
});

afterEach(() => {
  process.env = kept;
});

/** Calls a model whose provider refuses every request, which is recorded. */
async function ask(
  kind: LanguageModels,
  settings: Omit<LanguageModelSettings, 'model' | 'fetch'>,
  messages: ModelMessage[] = [{ role: 'user', content: 'Hello?' }],
): Promise<Sent | undefined> {
  const fetch: typeof globalThis.fetch = async (url, { headers, body } = {}) => {
    const shown = JSON.stringify([...new Headers(headers)]);
    sent.push({ url: url instanceof Request ? url.url : String(url), headers: shown, body: String(body) });
    return new Response(null, { status: 401 });
  };
  const model = await kind.openModel({ ...settings, model: 'gemini-2.5-flash', fetch });
  const result = streamText({ model, messages, tools: TOOLS, maxRetries: 0, onError: () => undefined });
  await result.consumeStream({ onError: () => undefined });
  return sent.at(-1);
}

describe('the kinds of hosted models', () => {
  it.each<[string, LanguageModels, Omit<LanguageModelSettings, 'model' | 'fetch'>, string]>([
    [
      'google',
      new GoogleModels(),
      {},
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    ],
    ['mistral', new MistralModels(), {}, 'https://api.mistral.ai/v1/chat/completions'],
    ['azure', new AzureModels(), { baseUrl: 'https://x.example' }, 'https://x.example/openai/v1/responses'],
    [
      'bedrock',
      new BedrockModels(),
      AWS,
      'https://bedrock-runtime.eu-central-1.amazonaws.com/model/gemini-2.5-flash/converse-stream',
    ],
    [
      'bedrock without a key',
      new BedrockModels(),
      {},
      'https://bedrock-runtime..amazonaws.com/model/gemini-2.5-flash/converse-stream',
    ],
  ])('%s uses nothing of the environment', async (_, kind, settings, url) => {
    Object.assign(process.env, VARIABLES, CONTAINER);
    const request = await ask(kind, settings);
    expect(request?.url).toBe(url);
    expect(JSON.stringify(sent)).not.toContain(OF_THE_OPERATOR);
    expect(JSON.stringify(sent)).not.toContain('x-amz-security-token');
  });

  it.each([
    'https://name.openai.azure.com',
    'https://name.openai.azure.com/openai',
    'https://name.openai.azure.com/openai/v1',
  ])('azure takes the address %s', async (baseUrl) => {
    const kind = new AzureModels();
    const request = await ask(kind, { baseUrl, apiKey: 'key' });
    expect(request?.url).toBe('https://name.openai.azure.com/openai/v1/responses');
    expect(request?.headers).toContain('["api-key","key"]');
    expect((await ask(kind, { baseUrl, apiVersion: '2024-10-21' }))?.url).toBe(
      'https://name.openai.azure.com/openai/deployments/gemini-2.5-flash/chat/completions?api-version=2024-10-21',
    );
  });

  it('azure needs an address', async () => {
    await expect(ask(new AzureModels(), {})).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each([
    ['us-east-1', 'amazonaws.com'],
    ['us-gov-west-1', 'amazonaws.com'],
    ['cn-north-1', 'amazonaws.com.cn'],
    ['us-iso-east-1', 'c2s.ic.gov'],
    ['eusc-de-east-1', 'amazonaws.eu'],
  ])('bedrock knows the host of %s', (region, domain) => {
    expect(new BedrockModels().ownBaseUrl({ region })).toBe(`https://bedrock-runtime.${region}.${domain}`);
  });

  it.each<[string, LanguageModels, object, string[]]>([
    ['google', new GoogleModels(), {}, ['"mimeType":"image/png","data":"aW1hZ2U="', '"mimeType":"audio/wav"']],
    ['mistral', new MistralModels(), {}, ['"image_url":"data:image/png;base64,aW1hZ2U="', '(audio/wav) was left out']],
    [
      'azure',
      new AzureModels(),
      { baseUrl: 'https://x.example' },
      ['"type":"input_image","image_url":"data:image/png;base64,aW1hZ2U="', '(audio/wav) was left out'],
    ],
    ['bedrock', new BedrockModels(), AWS, ['"format":"png","source":{"bytes":"aW1hZ2U="', '(audio/wav) was left out']],
  ])('%s gets the media of results of tools in the form that it takes', async (_, kind, settings, forms) => {
    const call = { toolCallId: 'call-1', toolName: 'look' };
    const file = (mediaType: string, data: string) => ({
      type: 'file' as const,
      mediaType,
      data: { type: 'data' as const, data },
    });
    const value = [file('image/png', 'aW1hZ2U='), file('audio/wav', 'c291bmQ=')];
    const request = await ask(kind, settings, [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [{ type: 'tool-call', ...call, input: {} }] },
      { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'content', value } }] },
    ]);
    for (const form of forms) expect(request?.body).toContain(form);
  });

  it.each<[string, LanguageModels, string[], string[]]>([
    ['google', new GoogleModels(), ['image/webp', 'audio/ogg', 'video/mp4', 'application/pdf'], ['image/gif']],
    ['mistral', new MistralModels(), ['image/gif', 'application/pdf'], ['audio/wav']],
    ['azure', new AzureModels(), ['image/gif', 'application/pdf'], ['audio/wav']],
    [
      'bedrock',
      new BedrockModels(),
      ['image/gif', 'application/pdf', 'application/msword'],
      ['video/mp4', 'audio/wav'],
    ],
  ])('%s takes files in messages', (_, { files }, taken, refused) => {
    for (const type of taken) expect([type, files?.test(type)]).toEqual([type, true]);
    for (const type of [...refused, 'application/zip']) expect([type, files?.test(type)]).toEqual([type, false]);
  });

  it('mistral gets short ids of calls, the same for a call and its result, and an answer after each result', async () => {
    const call = { toolCallId: 'call_of another/provider', toolName: 'look' };
    const own = { toolCallId: 'AbCdEf123', toolName: 'look' };
    const output = { type: 'text' as const, value: 'seen' };
    const request = await ask(new MistralModels(), {}, [
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', ...call, input: {} },
          { type: 'tool-call', ...own, input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', ...call, output },
          { type: 'tool-result', ...own, output },
        ],
      },
      { role: 'user', content: 'And now?' },
    ]);
    const { messages } = JSON.parse(request?.body ?? '') as {
      messages: { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[];
    };
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'assistant', 'user']);
    const ids = messages[0]?.tool_calls?.map(({ id }) => id);
    expect(ids).toEqual([expect.stringMatching(/^[a-z0-9]{9}$/), 'AbCdEf123']);
    expect([messages[1]?.tool_call_id, messages[2]?.tool_call_id]).toEqual(ids);
  });
});
