import { applyDecorators } from '@nestjs/common';
import { ApiProduces, ApiResponse } from '@nestjs/swagger';

const TEXT = { type: 'string' };
const ANY_OBJECT = { type: 'object', additionalProperties: true };

/** A response, as far as it does not only repeat what the agent decides. */
const RESPONSE = {
  title: 'OpenAiResponse',
  type: 'object',
  required: ['id', 'object', 'created_at', 'status', 'model', 'output', 'usage', 'error', 'metadata'],
  properties: {
    id: { ...TEXT, description: '`resp_` and the `taskId` of the run' },
    object: { type: 'string', enum: ['response'] },
    created_at: { type: 'integer' },
    completed_at: { type: ['integer', 'null'] },
    status: { type: 'string', enum: ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
    model: { ...TEXT, description: 'The agent' },
    conversation: { type: 'object', required: ['id'], properties: { id: { ...TEXT, description: 'The thread' } } },
    previous_response_id: { type: ['string', 'null'] },
    output: {
      type: 'array',
      items: ANY_OBJECT,
      description: 'Items: message, reasoning, mcp_call, mcp_approval_request',
    },
    usage: { anyOf: [ANY_OBJECT, { type: 'null' }] },
    error: { anyOf: [ANY_OBJECT, { type: 'null' }] },
    metadata: { type: 'object', additionalProperties: TEXT },
  },
  additionalProperties: true,
};

/** The body of a stream of events. */
const EVENTS = {
  type: 'string',
  description: 'Server-Sent Events, each with a `sequence_number`. The last one has the whole response.',
  contentMediaType: 'text/event-stream',
  example: 'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{}}\n\n',
};

/** A route that answers with a response. @param isStreamed whether its events can be asked for */
export function DescribesResponse({ isStreamed }: { isStreamed: boolean }): MethodDecorator {
  return applyDecorators(
    ApiProduces('application/json', ...(isStreamed ? ['text/event-stream'] : [])),
    ApiResponse({
      status: 200,
      description: isStreamed ? 'The response; with `stream`, its events' : 'The response',
      content: {
        'application/json': { schema: RESPONSE },
        ...(isStreamed && { 'text/event-stream': { schema: EVENTS } }),
      },
    }),
  );
}

/** A page of the input of a response. */
export const INPUT_ITEMS = {
  title: 'OpenAiInputItems',
  properties: {
    object: { type: 'string', enum: ['list'] },
    data: { type: 'array', items: ANY_OBJECT },
    first_id: { type: ['string', 'null'] },
    last_id: { type: ['string', 'null'] },
    has_more: { type: 'boolean' },
  },
};

export const DELETED_RESPONSE = {
  title: 'OpenAiDeletedResponse',
  properties: { id: TEXT, object: { type: 'string', enum: ['response'] }, deleted: { type: 'boolean', enum: [true] } },
};

/** An agent as a model. */
export const MODEL = {
  title: 'OpenAiModel',
  properties: {
    id: { ...TEXT, description: 'The agent' },
    object: { type: 'string', enum: ['model'] },
    created: { type: 'integer' },
    owned_by: { ...TEXT, description: 'The organization' },
    slug: { ...TEXT, description: 'Names the agent too, as `model` of a response' },
  },
};

/** The agents as models. */
export const MODELS = {
  title: 'OpenAiModels',
  properties: {
    object: { type: 'string', enum: ['list'] },
    data: { type: 'array', items: objectOf(MODEL) },
  },
};

/** A route that answers with an object, all of whose members are always there. */
export function DescribesObject(description: string, members: Members): MethodDecorator {
  const schema = objectOf(members);
  return ApiResponse({ status: 200, description, content: { 'application/json': { schema } } });
}

interface Members {
  readonly title: string;
  readonly properties: Readonly<Record<string, object>>;
}

function objectOf({ title, properties }: Members) {
  return { title, type: 'object', required: Object.keys(properties), properties, additionalProperties: true };
}
