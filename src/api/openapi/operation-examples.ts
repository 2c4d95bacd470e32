import type { OpenAPIObject } from '@nestjs/swagger';
import type { JsonSchema } from '../../core/validation/schema-of.js';
import type { ComponentSchemas } from './component-schemas.js';
import { exampleOf } from './schema-example.js';

const THREAD_ID = 'ticket-4711';
const AGENT_ID = '0198f0a0-0000-7000-8000-000000000002';
const CONNECTION_ID = '0198f0a0-0000-7000-8000-000000000001';
const APPROVAL_ID = '01a1fc0f-ac13-7cb1-8f4e-5d9d3c1f7a20';
const FILE_ID = '01a1fc10-2f4e-7a61-9d0b-5b1d3a8c2e11';
const TASK_ID = '01a1fc0f-ac11-77b3-84e0-942cb7270dad';

/** Bodies by operation id, where one that is made from the schema would explain too little. */
const REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  COLLECTION_CONNECTIONS_CREATE: {
    data: { title: 'Search', connection_type: 'HTTP', connection_url: 'http://127.0.0.1:3001/mcp' },
  },
  ACCESS_TOOLS_LIST: { search: 'customer' },
  CONNECTION_TEST: { id: CONNECTION_ID },
  CONNECTION_TOOLS_DIFF: { id: CONNECTION_ID },
  CONNECTION_TOOLS_APPROVE: { id: CONNECTION_ID, tools: ['search'] },
  COLLECTION_VIRTUAL_MCP_CREATE: {
    data: { title: 'Helper', instructions: 'Be brief.', connections: [{ connection_id: CONNECTION_ID }] },
  },
  COLLECTION_THREADS_CREATE: { data: { id: THREAD_ID, title: 'Ticket 4711', virtual_mcp_id: AGENT_ID } },
  COLLECTION_THREADS_GET: { id: THREAD_ID },
  COLLECTION_THREAD_MESSAGES_LIST: { thread_id: THREAD_ID, order: 'desc', limit: 20 },
  COLLECTION_THREADS_LIST: {
    where: { field: ['status'], operator: 'eq', value: 'failed' },
    orderBy: [{ field: ['created_at'], direction: 'desc' }],
    limit: 20,
  },
  THREAD_STATS: {
    from: '2026-01-01T00:00:00Z',
    to: '2026-02-01T00:00:00Z',
    where: { field: ['text'], operator: 'matches', value: 'refund -test' },
  },
  RUN_GET: { id: TASK_ID },
  RUN_LIST: {
    where: {
      operator: 'and',
      conditions: [
        { field: ['question'], operator: 'matches', value: 'refund' },
        { field: ['tool'], operator: 'eq', value: 'search' },
        { field: ['created_at'], operator: 'gte', value: '2026-01-31T00:00:00Z' },
      ],
    },
    orderBy: [{ field: ['cost_usd'], direction: 'desc' }],
    limit: 20,
  },
  RUN_STATS: { where: { field: ['error_code'], operator: 'eq', value: 'model_provider_error' } },
  API_KEY_CREATE: {
    name: 'support-bot',
    expiresIn: 7_776_000,
    permissions: {
      self: ['COLLECTION_THREADS_CREATE', 'COLLECTION_THREADS_GET', 'COLLECTION_THREAD_MESSAGES_LIST', 'RUN_GET'],
    },
  },
  postMessage: {
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    agent: { id: AGENT_ID },
  },
  steerRun: {
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'No, the other one' }] }],
    agent: { id: AGENT_ID },
  },
  regenerateAnswer: {},
  answerApproval: { approved: true },
  cancelRuns: { taskId: TASK_ID },
  createResponse: { model: AGENT_ID, input: 'Hello' },
  exportRecords: {
    records: 'calls',
    format: 'csv',
    where: { field: ['at'], operator: 'gte', value: '2026-01-31T00:00:00Z' },
  },
  sendToConnection: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  sendToAgent: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  sendToManagementTools: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  callTool: { message: 'hi' },
};

/** Responses by operation id. */
const RESPONSE_EXAMPLES: Readonly<Record<string, unknown>> = {
  callTool: { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'Echo: hi' }] } },
};

/** A stream of an MCP endpoint; those of runs have an example already. */
const MCP_STREAM_EXAMPLE = 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n\n';

/** Values of path parameters. */
const PARAMETER_EXAMPLES: Readonly<Record<string, string>> = {
  org: 'default',
  threadId: THREAD_ID,
  taskId: TASK_ID,
  connectionId: CONNECTION_ID,
  virtualMcpId: AGENT_ID,
  toolName: 'echo',
  approvalId: APPROVAL_ID,
  fileId: FILE_ID,
  responseId: `resp_${TASK_ID}`,
  model: AGENT_ID,
};

type Operation = NonNullable<OpenAPIObject['paths'][string]['post']>;
type Media = { schema?: JsonSchema; example?: unknown };
type Part = Operation['requestBody'] | Operation['responses'][string];

/** Adds an example to every body, response and path parameter that has none. */
export class OperationExamples {
  constructor(private readonly schemas: ComponentSchemas) {}

  addTo(operation: Operation): void {
    const { operationId = '', parameters = [], requestBody, responses } = operation;
    for (const parameter of parameters) {
      if ('in' in parameter && parameter.in === 'path') parameter.example = PARAMETER_EXAMPLES[parameter.name];
    }
    for (const [, media] of mediaOf(requestBody)) {
      media.example ??= REQUEST_EXAMPLES[operationId] ?? this.exampleOf(media.schema, true);
    }
    for (const [type, media] of Object.values(responses).flatMap(mediaOf)) {
      const known = type === 'application/json' ? RESPONSE_EXAMPLES[operationId] : MCP_STREAM_EXAMPLE;
      media.example ??= known ?? this.exampleOf(media.schema, false);
    }
  }

  private exampleOf(schema: JsonSchema = {}, onlyRequired: boolean): unknown {
    return exampleOf(schema, { resolve: (reference) => this.schemas.resolve(reference), onlyRequired });
  }
}

function mediaOf(part: Part): [type: string, media: Media][] {
  return part !== undefined && 'content' in part ? (Object.entries(part.content ?? {}) as [string, Media][]) : [];
}
