import type { JsonSchema } from '../../core/validation/schema-of.js';

const TEXT = { type: 'string' };
const FLAG = { type: 'boolean' };
const ANY = {};
const METADATA = { type: 'object', additionalProperties: true };
const FINISH_REASON = { type: 'string', enum: ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'] };

type Properties = Record<string, JsonSchema>;

/** A kind of chunk. Others can be added to it, and further properties to each: ignore what you do not know. */
function chunk(type: string, description: string, required: Properties = {}, optional: Properties = {}): JsonSchema {
  return {
    type: 'object',
    description,
    required: ['type', ...Object.keys(required)],
    properties: { type: { type: 'string', const: type }, ...required, ...optional },
  };
}

const TOOL_CALL = { toolCallId: TEXT, toolName: TEXT };

/** One event of a stream: the UI-message chunks of the AI SDK that the service sends. */
const UI_MESSAGE_CHUNK: JsonSchema = {
  description:
    'The data of one frame of a stream: a UI-message chunk of the AI SDK. The last frame is the text `[DONE]`.',
  discriminator: { propertyName: 'type' },
  oneOf: [
    chunk('start', 'The answer begins.', { messageId: TEXT }, { messageMetadata: METADATA }),
    chunk('finish', 'The answer is complete.', {}, { finishReason: FINISH_REASON, messageMetadata: METADATA }),
    chunk(
      'message-metadata',
      'Metadata of the answer: the tools that a search has found, and how it ended before `error` and `abort`.',
      { messageMetadata: METADATA },
    ),
    chunk('start-step', 'A model call begins.'),
    chunk('finish-step', 'A model call and its tool calls are complete.'),
    chunk('reset-step', 'The step failed, or its answer was refused: drop its parts, it is repeated.'),
    chunk('text-start', 'A text begins.', { id: TEXT }),
    chunk('text-delta', 'A text grows.', { id: TEXT, delta: TEXT }),
    chunk('text-end', 'A text is complete.', { id: TEXT }),
    chunk('reasoning-start', 'A reasoning begins.', { id: TEXT }),
    chunk('reasoning-delta', 'A reasoning grows.', { id: TEXT, delta: TEXT }),
    chunk('reasoning-end', 'A reasoning is complete.', { id: TEXT }),
    chunk('tool-input-start', 'The model begins to call a tool.', TOOL_CALL, { dynamic: FLAG }),
    chunk('tool-input-delta', 'The arguments of the call grow.', { toolCallId: TEXT, inputTextDelta: TEXT }),
    chunk('tool-input-available', 'The model calls a tool.', { ...TOOL_CALL, input: ANY }, { dynamic: FLAG }),
    chunk('tool-input-error', 'The model called a tool in a wrong way.', { ...TOOL_CALL, input: ANY, errorText: TEXT }),
    chunk('tool-approval-request', 'Somebody has to approve the call.', { approvalId: TEXT, toolCallId: TEXT }),
    chunk(
      'tool-approval-response',
      'The call was approved or denied.',
      { approvalId: TEXT, approved: FLAG },
      { reason: TEXT },
    ),
    chunk('tool-output-available', 'The result of a call.', { toolCallId: TEXT, output: ANY }, { dynamic: FLAG }),
    chunk('tool-output-error', 'The error of a call.', { toolCallId: TEXT, errorText: TEXT }, { dynamic: FLAG }),
    chunk('tool-output-denied', 'The call was denied.', { toolCallId: TEXT }),
    chunk(
      'data-retry',
      'The model provider is called again. Not part of the transcript.',
      {
        data: {
          type: 'object',
          required: ['attempt', 'max_attempts', 'delay_ms', 'code', 'message'],
          properties: {
            attempt: { type: 'integer' },
            max_attempts: { type: 'integer' },
            delay_ms: { type: 'integer' },
            code: TEXT,
            message: TEXT,
          },
        },
      },
      { transient: FLAG },
    ),
    chunk('data-steer', 'The answer heard a message that was sent while it was under way.', {
      id: TEXT,
      data: {
        type: 'object',
        required: ['messageId', 'text', 'interrupted'],
        properties: { messageId: TEXT, text: TEXT, interrupted: FLAG },
      },
    }),
    chunk('file', 'A file that the model has made, or that is in the result of a tool.', {
      url: TEXT,
      mediaType: TEXT,
    }),
    chunk(
      'data-output',
      'The object of an answer in a shape, before `finish`. Not part of the transcript.',
      { data: METADATA },
      { transient: FLAG },
    ),
    chunk('error', 'The run failed.', { errorText: TEXT }),
    chunk('abort', 'The run was cancelled.', {}, { reason: TEXT }),
  ],
};

/** The body of a stream, as text: what its frames look like, and what their data is. */
export const EVENT_STREAM: JsonSchema = {
  type: 'string',
  description:
    'Server-Sent Events. Each frame has an `id`, to continue after it with `Last-Event-ID`, and a ' +
    'UiMessageChunk as `data`.',
  contentMediaType: 'text/event-stream',
  contentSchema: { $ref: '#/components/schemas/UiMessageChunk' },
};

/** The beginning and the end of a stream. */
export const EVENT_STREAM_EXAMPLE = [
  'id: 01a1fc0f-ac11-77b3-84e0-942cb7270dad:1.0.5k3v9qa.0',
  'data: {"type":"start","messageId":"01a1fc0f-ac12-7001-9b7e-0d6d2a5b8c11"}',
  '',
  'id: 01a1fc0f-ac11-77b3-84e0-942cb7270dad:4.1.5k3v9qa.0',
  'data: {"type":"text-delta","id":"text","delta":"Hello"}',
  '',
  'data: [DONE]',
  '',
  '',
].join('\n');

const JSON_RPC_ID = { type: ['string', 'integer', 'null'] };

/** Schemas that no class describes. */
export const STREAM_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  UiMessageChunk: UI_MESSAGE_CHUNK,
  RunAccepted: {
    type: 'object',
    required: ['taskId'],
    properties: { taskId: { type: 'string', format: 'uuid' } },
  },
  SteerAccepted: {
    type: 'object',
    required: ['taskId', 'steered'],
    properties: {
      taskId: { type: 'string', format: 'uuid' },
      steered: { type: 'boolean', description: 'The run was under way. False for a run of the message alone.' },
    },
  },
  RunsCancelled: {
    type: 'object',
    required: ['taskIds'],
    properties: { taskIds: { type: 'array', items: { type: 'string', format: 'uuid' } } },
  },
  JsonRpcRequest: {
    type: 'object',
    description:
      'A message of MCP (JSON-RPC 2.0): a request, a notification, or the answer to a request of the server.',
    required: ['jsonrpc'],
    properties: {
      jsonrpc: { type: 'string', const: '2.0' },
      id: JSON_RPC_ID,
      method: TEXT,
      params: METADATA,
      result: METADATA,
      error: METADATA,
    },
  },
  JsonRpcResponse: {
    type: 'object',
    description: 'The answer to a request: a result or an error. `error.data.code` is a code of the service.',
    required: ['jsonrpc', 'id'],
    properties: {
      jsonrpc: { type: 'string', const: '2.0' },
      id: JSON_RPC_ID,
      result: METADATA,
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: { code: { type: 'integer' }, message: TEXT, data: METADATA },
      },
    },
  },
};
