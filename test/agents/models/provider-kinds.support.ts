import {
  type ModelBehaviour,
  type ModelApi,
  type ModelServer,
  startModelServer,
} from '../../../src/boot/testing/model-server.js';
import { AzureApi } from '../../support/model-apis/azure-api.js';
import { AWS_ACCESS, BEDROCK_FIELDS, BedrockApi } from '../../support/model-apis/bedrock-api.js';
import { GoogleApi } from '../../support/model-apis/google-api.js';
import { MistralApi } from '../../support/model-apis/mistral-api.js';
import { afterText, ALL, type Failure, OPENAI_FAILURES, PAGE, refusal } from './provider-failures.support.js';

/** A provider of one kind: how it is stored, and the server that answers for it. */
export interface ProviderCase {
  readonly name: string;
  /** The input of `AI_PROVIDER_CREATE` without title and address. */
  readonly data: { readonly kind: string; readonly [field: string]: string };
  /** The values that no answer, row or message may hold. */
  readonly secrets: readonly string[];
  readonly model: string;
  /** @param answer chooses the behaviour for each request that nothing is scripted for */
  start(answer: () => ModelBehaviour): Promise<ModelServer<Json>>;
  /** The path of the requests. */
  readonly path: string;
  /** The parts of a request that a run of the test makes. */
  readonly request: object;
  /** The parts of the request that follows a call of the tool. */
  readonly results: object;
  /** The form of an error in the midst of a stream: that of a provider that limits the rate. */
  readonly throttled: object;
  readonly failures: readonly Failure[];
}

type Json = Record<string, unknown>;

const API_KEY = 'test-key-that-nobody-may-see/0123456789';
const { access_key_id, secret_access_key, session_token } = BEDROCK_FIELDS;

const AZURE: Pick<ProviderCase, 'secrets' | 'model' | 'start'> = {
  secrets: [API_KEY],
  model: 'my-deployment',
  start: (answer) => start(new AzureApi(API_KEY), answer),
};

export const PROVIDER_CASES: readonly ProviderCase[] = [
  {
    name: 'google',
    data: { kind: 'google', api_key: API_KEY },
    secrets: [API_KEY],
    model: 'gemini-3-flash',
    start: (answer) => start(new GoogleApi(API_KEY), answer),
    path: '/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse',
    request: {
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      systemInstruction: { parts: [{ text: 'Answer in verse.' }] },
      generationConfig: { temperature: 0.25, maxOutputTokens: 500 },
      tools: [{ functionDeclarations: [{ name: 'search' }] }],
    },
    results: {
      contents: [
        { role: 'user' },
        // Gemini 3 demands the signature that it gave.
        { role: 'model', parts: [{}, { functionCall: { name: 'search' }, thoughtSignature: 'c2ln' }] },
        {
          role: 'user',
          parts: [{ functionResponse: { name: 'search', response: { content: 'search says trains' } } }],
        },
      ],
    },
    throttled: { code: 429, message: 'Quota exceeded.', status: 'RESOURCE_EXHAUSTED' },
    failures: [
      ...ALL,
      PAGE,
      {
        what: 'limits the rate',
        behaviour: refusal(429, {
          error: {
            code: 429,
            message: 'You exceeded your current quota.',
            status: 'RESOURCE_EXHAUSTED',
            details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }],
          },
        }),
        code: 'provider_rate_limited',
        message: /\(HTTP 429\)\. It says: You exceeded your current quota\.$/,
      },
      {
        what: 'does not know the model',
        behaviour: refusal(404),
        code: 'provider_not_found',
        message: /models\/gone is not found/,
      },
      {
        what: 'answers with a list of errors',
        behaviour: refusal(503, [{ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }]),
        code: 'provider_unavailable',
        message: /\(HTTP 503\)\. It says: The model is overloaded\.$/,
      },
      {
        what: 'misses its deadline',
        behaviour: refusal(504, { error: { code: 504, message: 'Deadline expired.', status: 'DEADLINE_EXCEEDED' } }),
        code: 'provider_timeout',
        message: /timed out \(HTTP 504\)/,
      },
      {
        what: 'fails in its stream without a number',
        behaviour: afterText({ code: null, message: 'Internal.', status: 'INTERNAL' }),
        code: 'provider_unavailable',
        message: /is failing/,
        text: 'Once',
      },
    ],
  },
  {
    name: 'azure',
    data: { kind: 'azure', api_key: API_KEY },
    ...AZURE,
    path: '/openai/v1/responses',
    request: {
      model: 'my-deployment',
      temperature: 0.25,
      max_output_tokens: 500,
      input: [{ content: 'Answer in verse.' }, { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      tools: [{ type: 'function', name: 'search' }],
    },
    results: {
      input: [
        {},
        { role: 'user' },
        { type: 'item_reference' },
        { type: 'function_call', call_id: 'call00001' },
        { type: 'function_call_output', call_id: 'call00001', output: 'search says trains' },
      ],
    },
    throttled: { code: 'rate_limit_exceeded', message: 'Slow down.', param: null },
    failures: [
      ...ALL,
      ...OPENAI_FAILURES,
      {
        what: 'fails before the first word of its stream',
        behaviour: { kind: 'error-after', deltas: [], error: { code: 'bad', message: API_KEY, param: null } },
        code: 'provider_unavailable',
        message: /is failing \(HTTP 500\)\.$/,
      },
    ],
  },
  {
    name: 'azure with a version',
    data: { kind: 'azure', api_key: API_KEY, api_version: '2024-10-21' },
    ...AZURE,
    path: '/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21',
    request: {
      temperature: 0.25,
      max_tokens: 500,
      messages: [{ content: 'Answer in verse.' }, { role: 'user', content: 'Hello' }],
      tools: [{ function: { name: 'search' } }],
    },
    results: {
      messages: [
        {},
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ id: 'call00001' }] },
        { role: 'tool', tool_call_id: 'call00001', content: 'search says trains' },
      ],
    },
    throttled: { code: 'rate_limit_exceeded', message: 'Slow down.', type: 'requests' },
    failures: [...ALL, ...OPENAI_FAILURES],
  },
  {
    name: 'bedrock',
    data: BEDROCK_FIELDS,
    secrets: [access_key_id, secret_access_key, session_token],
    // The path of the model has characters that are encoded twice in the signature.
    model: 'eu.anthropic.claude-haiku-4-5-20251001-v1:0',
    start: (answer) => start(new BedrockApi(AWS_ACCESS), answer),
    path: '/model/eu.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse-stream',
    request: {
      messages: [{ role: 'user', content: [{ text: 'Hello' }] }],
      system: [{ text: 'Answer in verse.' }],
      inferenceConfig: { temperature: 0.25, maxTokens: 500 },
      toolConfig: { tools: [{ toolSpec: { name: 'search' } }] },
    },
    results: {
      messages: [
        { role: 'user' },
        { role: 'assistant', content: [{}, { toolUse: { toolUseId: 'call00001', name: 'search' } }] },
        {
          role: 'user',
          content: [{ toolResult: { toolUseId: 'call00001', content: [{ text: 'search says trains' }] } }],
        },
      ],
    },
    throttled: { type: 'throttlingException', message: 'Too many tokens, please wait before trying again.' },
    failures: [
      ...ALL,
      { ...PAGE, code: 'provider_bad_response', message: /invalid response/ },
      {
        what: 'limits the rate',
        behaviour: refusal(
          429,
          { message: 'Too many requests.' },
          { 'x-amzn-errortype': 'ThrottlingException:http://x/' },
        ),
        code: 'provider_rate_limited',
        message: /\(HTTP 429\)\. It says: Too many requests\.$/,
      },
      {
        what: 'limits the rate with another status',
        behaviour: refusal(400, { __type: 'com.amazonaws.bedrock#ThrottlingException', message: 'Rate exceeded.' }),
        code: 'provider_rate_limited',
        message: /\(HTTP 400\)\. It says: Rate exceeded\.$/,
      },
      {
        what: 'denies the model',
        behaviour: refusal(403, { Message: 'User is not authorized to perform bedrock:InvokeModel.' }),
        code: 'provider_unauthorized',
        message: /\(HTTP 403\)\. It says: User is not authorized to perform bedrock:InvokeModel\.$/,
      },
      {
        what: 'refuses an expired token',
        behaviour: refusal(400, { __type: 'ExpiredTokenException', message: 'The security token is expired.' }),
        code: 'provider_unauthorized',
        message: /The security token is expired\.$/,
      },
      {
        what: 'does not take the request',
        behaviour: refusal(400, { message: 'Malformed input.' }, { 'x-amzn-errortype': 'ValidationException' }),
        code: 'provider_rejected',
        message: /\(HTTP 400\)\. It says: Malformed input\.$/,
      },
      {
        what: 'does not know the model',
        behaviour: refusal(404),
        code: 'provider_not_found',
        message: /The provided model identifier is invalid/,
      },
      {
        what: 'has a model that fails',
        behaviour: refusal(424, { message: 'The model failed.' }, { 'x-amzn-errortype': 'ModelErrorException' }),
        code: 'provider_unavailable',
        message: /is failing \(HTTP 424\)/,
      },
      ...(
        [
          ['internalServerException', 'provider_unavailable'],
          ['modelStreamErrorException', 'provider_unavailable'],
          ['serviceUnavailableException', 'provider_unavailable'],
          ['validationException', 'provider_rejected'],
        ] as const
      ).map(([type, code]) => ({
        what: `streams ${type}`,
        behaviour: afterText({ type, message: 'It broke.' }),
        code,
        message: /^The model provider .*\(HTTP \d+\)\.$/,
        text: 'Once',
      })),
    ],
  },
  {
    name: 'mistral',
    data: { kind: 'mistral', api_key: API_KEY },
    secrets: [API_KEY],
    model: 'mistral-small-latest',
    start: (answer) => start(new MistralApi(API_KEY), answer),
    path: '/v1/chat/completions',
    request: {
      model: 'mistral-small-latest',
      temperature: 0.25,
      max_tokens: 500,
      messages: [{ role: 'system', content: 'Answer in verse.' }, { role: 'user' }],
      tools: [{ function: { name: 'search' } }],
    },
    results: {
      messages: [
        {},
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ id: 'call00001' }] },
        { role: 'tool', tool_call_id: 'call00001', content: 'search says trains' },
      ],
    },
    throttled: { message: 'Capacity exceeded.', type: 'service_tier_capacity_exceeded', code: '3505', param: null },
    failures: [
      ...ALL,
      PAGE,
      {
        what: 'limits the rate',
        behaviour: refusal(429, {
          object: 'error',
          message: 'Rate limit exceeded.',
          type: 'rate_limited',
          param: null,
          code: '1300',
        }),
        code: 'provider_rate_limited',
        message: /\(HTTP 429\)\. It says: Rate limit exceeded\.$/,
      },
      {
        what: 'finds faults in the request',
        behaviour: refusal(422, {
          detail: [{ type: 'less_than_equal', loc: ['body', 'temperature'], msg: 'Input should be at most 1.5' }],
        }),
        code: 'provider_rejected',
        message: /\(HTTP 422\)\. It says: body\.temperature: Input should be at most 1\.5\.$/,
      },
      {
        what: 'finds faults within its own form',
        behaviour: refusal(422, {
          object: 'error',
          message: { detail: [{ loc: ['body', 'top_p'], msg: 'Input should be greater than 0' }] },
          type: 'invalid_request_error',
        }),
        code: 'provider_rejected',
        message: /It says: body\.top_p: Input should be greater than 0\.$/,
      },
      {
        what: 'fails in its stream',
        behaviour: afterText({ message: 'Internal.', type: 'internal_server_error', code: '1000', param: null }),
        code: 'provider_unavailable',
        message: /is failing/,
        text: 'Once',
      },
      {
        what: 'names a status in its stream',
        behaviour: afterText({ message: 'Refused.', type: 'x', code: '1', param: null, raw_status_code: 400 }),
        code: 'provider_rejected',
        message: /rejected the request \(HTTP 400\)\.$/,
        text: 'Once',
      },
    ],
  },
];

function start<Body>(api: ModelApi<Body>, answer: () => ModelBehaviour): Promise<ModelServer<Json>> {
  return startModelServer(api as unknown as ModelApi<Json>, answer);
}
