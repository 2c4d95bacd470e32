import type { OpenAPIObject } from '@nestjs/swagger';

/** The operations that a first integration needs, in the order in which it calls them. */
export const MAIN_FLOW: readonly string[] = [
  'COLLECTION_CONNECTIONS_CREATE',
  'CONNECTION_TEST',
  'COLLECTION_VIRTUAL_MCP_CREATE',
  'COLLECTION_THREADS_CREATE',
  'postMessage',
  'streamThread',
  'getRun',
  'COLLECTION_THREAD_MESSAGES_LIST',
];

export const MAIN_FLOW_TAG = 'main flow';

/** Tags with a description, in the order of the page; the other ones follow by name. */
const DESCRIBED: readonly (readonly [name: string, description: string])[] = [
  [
    MAIN_FLOW_TAG,
    'From an MCP server to an answer, in the order of the calls. Each operation is also listed under its topic.',
  ],
  ['agent runs', 'Post messages, read answers live or when they are complete, approve tool calls, and cancel runs.'],
  [
    'responses',
    "The same for OpenAI's clients: an agent is a model, a run is a response, and a thread a conversation.",
  ],
  ['threads', 'Conversations with an agent, and their durable transcripts.'],
  ['runs', 'Records of runs and their usage.'],
  ['webhooks', 'Signed messages that tell of the ends of runs and of requested approvals (Standard Webhooks).'],
  ['schedules', 'Messages that are posted at the times of a cron expression.'],
  ['agents', 'An agent is a virtual MCP server (VIRTUAL_MCP): it composes tools of connections.'],
  ['connections', 'MCP servers, over HTTP or as programs (STDIO).'],
  ['connection proxy', 'Connections, agents and the management tools as MCP servers (streamable HTTP).'],
  ['management tools', 'The list of all tools of this reference that the caller can call.'],
];

/** The topics of management tools, by the beginnings of their names. */
const TOPICS: readonly (readonly [topic: string, names: RegExp])[] = [
  ['connections', /^(?:COLLECTION_)?CONNECTION/],
  ['agents', /^COLLECTION_VIRTUAL_MCP/],
  ['threads', /^(?:COLLECTION_)?THREAD/],
  ['runs', /^(?:RUN|USAGE)_/],
  ['webhooks', /^WEBHOOK_/],
  ['schedules', /^SCHEDULE_/],
  ['api keys', /^API_KEY_/],
  ['models', /^(?:AI_PROVIDER|MODEL_TIERS)_/],
  ['people and roles', /^(?:MEMBER|ROLE|ORGANIZATION)_/],
  ['oauth', /^OAUTH_/],
  ['monitoring', /^(?:MONITORING|AUDIT)_/],
];

/** The tag of a management tool. Without a topic, it is the name without its verb: `REPORT_CREATE` → `report`. */
export function topicOf(tool: string): string {
  const topic = TOPICS.find(([, names]) => names.test(tool))?.[0];
  return (
    topic ??
    tool
      .replace(/_[A-Z]+$/, '')
      .replaceAll('_', ' ')
      .toLowerCase()
  );
}

/** The tags of a document, those of the outline first. */
export function outlineOf(used: ReadonlySet<string>): NonNullable<OpenAPIObject['tags']> {
  const described = DESCRIBED.filter(([name]) => used.has(name));
  const others = [...used].filter((name) => !described.some(([known]) => known === name)).toSorted();
  return [...described.map(([name, description]) => ({ name, description })), ...others.map((name) => ({ name }))];
}

export const INTRODUCTION = `
Signalbox runs AI agents over HTTP, and stands as a proxy between MCP clients and MCP servers.

**Authenticate** with \`Authorization: Bearer <API key>\`. The first start prints a key; \`API_KEY_CREATE\` makes keys with fewer
permissions. \`{org}\` is the slug of the organization, \`default\` unless it was set. Operations without a lock are public.

**The main flow**, as the first section below shows it:

1. Connect an MCP server (\`COLLECTION_CONNECTIONS_CREATE\`) and create an agent with its tools (\`COLLECTION_VIRTUAL_MCP_CREATE\`).
   An agent without connections works too.
2. Create a thread (\`COLLECTION_THREADS_CREATE\`). You can choose its id.
3. Post a message. The answer is 202 with a \`taskId\`; with \`Prefer: wait=60\` it is the result, and with
   \`Accept: text/event-stream\` the stream.
4. Read the answer: live from the stream, or later with the run or in the transcript.

**Management tools** are \`POST /api/{org}/tools/<NAME>\` with the input as the body. The same tools are an MCP server at
\`/api/{org}/mcp/self\`. Lists take \`{limit, cursor, offset, orderBy, where}\` and return \`{items, totalCount, hasMore, nextCursor}\`.

**Errors** are problem documents (RFC 9457) with a stable \`code\`, on MCP endpoints JSON-RPC errors. Every response has an
\`x-request-id\`. A \`429\` has \`Retry-After\`.

**Retry** a post safely with an \`Idempotency-Key\`. Continue a stream exactly with \`Last-Event-ID\`.
`.trim();

/** The names of operations for clients, by controller and method. */
export const OPERATION_IDS: Readonly<Record<string, string>> = {
  TurnsController_post: 'postMessage',
  TurnsController_steer: 'steerRun',
  TurnsController_regenerate: 'regenerateAnswer',
  ApprovalsController_answer: 'answerApproval',
  RunsController_cancel: 'cancelRuns',
  RunResultController_get: 'getRun',
  StreamController_stream: 'streamThread',
  ResponsesController_create: 'createResponse',
  ResponsesController_get: 'getResponse',
  ResponsesController_cancel: 'cancelResponse',
  ResponsesController_inputItems: 'listInputItems',
  ResponsesController_delete: 'deleteResponse',
  OpenAiModelsController_list: 'listModels',
  ToolsController_list: 'listTools',
  DirectController_post: 'sendToConnection',
  DirectController_listen: 'listenToConnection',
  DirectController_end: 'endConnectionSession',
  DirectController_callTool: 'callTool',
  GatewayController_post: 'sendToAgent',
  GatewayController_listen: 'listenToAgent',
  GatewayController_end: 'endAgentSession',
  SelfController_post: 'sendToManagementTools',
  HealthController_live: 'isAlive',
  HealthController_ready: 'isReady',
};
