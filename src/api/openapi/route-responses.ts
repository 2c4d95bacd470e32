import type { OpenAPIObject } from '@nestjs/swagger';
import type { RouteAccess } from '../../core/access.js';
import type { JsonSchema } from '../../core/validation/schema-of.js';
import type { ComponentSchemas } from './component-schemas.js';
import { EVENT_STREAM, EVENT_STREAM_EXAMPLE } from './stream-schemas.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['post']>;
type Content = Record<string, { schema?: JsonSchema; example?: unknown }>;

const PROBLEM = { $ref: '#/components/responses/Problem' };
const EVENTS = 'text/event-stream';

/** Responses of routes that answer on their own, by operation id. They replace what the framework assumes. */
const RESPONSES: Readonly<Record<string, Operation['responses']>> = {
  streamThread: {
    '200': { description: 'The frames of the run', content: { [EVENTS]: {} } },
    '204': { description: 'With `idle=204`: no run is queued or running' },
  },
  cancelRuns: {
    '202': {
      description: 'The runs that are being cancelled',
      content: { 'application/json': { schema: refTo('RunsCancelled') } },
    },
  },
  isAlive: {
    '200': {
      description: 'The process is alive',
      content: {
        'application/json': {
          schema: { type: 'object', required: ['status'], properties: { status: { type: 'string', enum: ['ok'] } } },
        },
      },
    },
  },
  isReady: {
    '200': { description: 'All checks pass', content: { 'application/json': { schema: { type: 'object' } } } },
    '503': { description: 'A check fails', content: { 'application/json': { schema: { type: 'object' } } } },
  },
};

/** Completes the operation of a controller's route: named schemas, its lock, its errors, and the responses of MCP. */
export function describeRoute(operation: Operation, access: RouteAccess, schemas: ComponentSchemas): void {
  const { operationId = '' } = operation;
  if (access === 'public') operation.security = [];
  // Tools that their server marks as public need no credential.
  if (access === 'mcp') operation.security = [{ bearer: [] }, {}];
  const own = RESPONSES[operationId] ?? (access === 'mcp' ? mcpResponses(operationId) : undefined);
  const responses = own ?? operation.responses;
  // Nest adds an empty response for each method, which ours replace.
  operation.responses = { ...(access !== 'mcp' && access !== 'public' && { default: PROBLEM }), ...responses };
  if (access === 'mcp' && operationId.startsWith('send')) {
    operation.requestBody = { required: true, content: { 'application/json': { schema: refTo('JsonRpcRequest') } } };
  }
  if (operationId === 'callTool') {
    const schema = { type: 'object', description: 'The arguments of the tool', additionalProperties: true };
    operation.requestBody = { required: true, content: { 'application/json': { schema } } };
  }
  const body = operation.requestBody;
  const contents = [body, ...Object.values(operation.responses)].flatMap((part) =>
    part !== undefined && 'content' in part && part.content !== undefined ? [part.content as Content] : [],
  );
  for (const content of contents) {
    for (const [type, media] of Object.entries(content)) {
      if (type === EVENTS && access !== 'mcp' && media.schema?.['contentMediaType'] === undefined) {
        Object.assign(media, { schema: EVENT_STREAM, example: EVENT_STREAM_EXAMPLE });
      } else if (media.schema !== undefined) {
        media.schema = schemas.refOr(media.schema);
      }
    }
  }
}

/** MCP, "Streamable HTTP": JSON or a stream for a request, 202 for a notification. */
function mcpResponses(operationId: string): Operation['responses'] {
  const message = { 'application/json': { schema: refTo('JsonRpcResponse') } };
  const events = { [EVENTS]: { schema: { type: 'string', description: 'JSON-RPC messages as Server-Sent Events' } } };
  const failed = { default: { description: 'A JSON-RPC error, with the HTTP status of its code', content: message } };
  if (operationId.startsWith('listen')) {
    return { '200': { description: 'The messages of the server', content: events }, ...failed };
  }
  if (operationId.startsWith('end')) return { '200': { description: 'The session has ended' }, ...failed };
  const answered = { '200': { description: 'The answer, as the server sends it', content: { ...message, ...events } } };
  if (operationId === 'callTool') return { ...answered, ...failed };
  return { ...answered, '202': { description: 'The notification is accepted' }, ...failed };
}

function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}
