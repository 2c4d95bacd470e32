/**
 * Every name that telemetry exports. `connection.*` and `mcp.proxy.*` are this service's interface ("Events"),
 * `mcp.gateway.*` is its own addition. The others are OpenTelemetry's semantic conventions: MCP (docs/gen-ai/mcp.md of
 * semantic-conventions-genai, in development), process and Node.js runtime. Durations are seconds.
 */

/**
 * The release of OpenTelemetry's semantic conventions that the GenAI spans and metrics of runs follow (docs/gen-ai of
 * open-telemetry/semantic-conventions, in development). It is the last release with them; they moved to a repository of
 * their own, which has no releases. Its constants are copied, as the conventions advise for names in development.
 */
export const GEN_AI_CONVENTIONS = '1.41.1';

/** The instrumentation scope of all measurements of this service. */
export const SCOPE_NAME = 'signalbox';

/** The three metrics of proxied requests, and the same three for the streaming endpoint. */
export interface ProxyMetricNames {
  readonly duration: string;
  readonly requests: string;
  readonly errors: string;
}

export const PROXY_METRICS: ProxyMetricNames = {
  duration: 'connection.proxy.duration',
  requests: 'connection.proxy.requests',
  errors: 'connection.proxy.errors',
};

export const STREAMABLE_PROXY_METRICS: ProxyMetricNames = {
  duration: 'connection.proxy.streamable.duration',
  requests: 'connection.proxy.streamable.requests',
  errors: 'connection.proxy.streamable.errors',
};

export const MCP_SERVER_OPERATION_DURATION = 'mcp.server.operation.duration';
/** Ours: how often an agent was assembled without one of its connections. */
export const MCP_GATEWAY_UNAVAILABLE = 'mcp.gateway.unavailable';
/** Ours: runs. */
export const RUNS_ENDED = 'signalbox.runs.ended';
export const RUNS_OPEN = 'signalbox.runs.open';
export const RUN_QUEUE_AGE = 'signalbox.run.queue.age';
export const RUN_QUEUE_WAIT = 'signalbox.run.queue.wait';
export const RUN_TIME_TO_FIRST_CHUNK = 'signalbox.run.time_to_first_chunk';
export const RUN_DURATION = 'signalbox.run.duration';
/** Ours: event streams. */
export const STREAMS_OPEN = 'signalbox.streams.open';
/** Ours: transfers of files. */
export const FILE_TRANSFER_SIZE = 'signalbox.file.transfer.size';
/** Of the GenAI convention (`GEN_AI_CONVENTIONS`). */
export const GEN_AI_TOKEN_USAGE = 'gen_ai.client.token.usage';
export const GEN_AI_OPERATION_DURATION = 'gen_ai.client.operation.duration';
export const GEN_AI_TIME_TO_FIRST_CHUNK = 'gen_ai.client.operation.time_to_first_chunk';
/** Of the HTTP convention, which is stable, and of the database convention. */
export const HTTP_REQUEST_DURATION = 'http.server.request.duration';
export const DB_CONNECTIONS = 'db.client.connection.count';
export const DB_CONNECTIONS_MAX = 'db.client.connection.max';
export const DB_PENDING_REQUESTS = 'db.client.connection.pending_requests';
export const PROCESS_CPU_TIME = 'process.cpu.time';
export const PROCESS_MEMORY_USAGE = 'process.memory.usage';
export const EVENT_LOOP_TIME = 'nodejs.eventloop.time';

/** Of tool calls. The span of any other request is named after its MCP method, as in the convention. */
export const CALL_TOOL_SPAN = 'mcp.proxy.callTool';
export const CALL_STREAMABLE_TOOL_SPAN = 'mcp.proxy.callStreamableTool';

export const CONNECTION_ID = 'connection.id';
export const TOOL_NAME = 'tool.name';
export const STATUS = 'status';
export const REQUEST_ID = 'request.id';

/** Ours, of the spans of runs. */
export const RUN_ID = 'signalbox.run.id';
export const RUN_ATTEMPT = 'signalbox.run.attempt';
export const RUN_STATUS = 'signalbox.run.status';
export const POST_SCHEDULED_RUN = 'post_scheduled_run';
export const SCHEDULE_ID = 'signalbox.schedule.id';
/** Ours, of transfers of files. */
export const FILE_BYTES = 'signalbox.file.bytes';
export const FILE_OPERATION = 'operation';
export const FILE_STORE = 'store';

/*
 * Of the GenAI convention, instructions, messages, and arguments and results of tools are omitted: they are content.
 * Of the MCP convention, `jsonrpc.request.id`, `mcp.session.id`, `mcp.resource.uri`, `gen_ai.tool.call.arguments` and
 * `.result` are omitted: they hold text from callers and upstreams, or grant access to a session.
 */
export const MCP_METHOD_NAME = 'mcp.method.name';
export const GEN_AI_TOOL_NAME = 'gen_ai.tool.name';
export const GEN_AI_OPERATION_NAME = 'gen_ai.operation.name';
export const EXECUTE_TOOL = 'execute_tool';
export const INVOKE_AGENT = 'invoke_agent';
export const CHAT = 'chat';
export const GEN_AI_AGENT_ID = 'gen_ai.agent.id';
export const GEN_AI_AGENT_NAME = 'gen_ai.agent.name';
export const GEN_AI_CONVERSATION_ID = 'gen_ai.conversation.id';
export const GEN_AI_PROVIDER_NAME = 'gen_ai.provider.name';
/** The convention's names of providers, for the kinds that have another name here. */
export const GEN_AI_PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['azure', 'azure.ai.openai'],
  ['bedrock', 'aws.bedrock'],
  ['google', 'gcp.gemini'],
  ['mistral', 'mistral_ai'],
]);
export const GEN_AI_REQUEST_MAX_TOKENS = 'gen_ai.request.max_tokens';
export const GEN_AI_REQUEST_MODEL = 'gen_ai.request.model';
export const GEN_AI_REQUEST_STREAM = 'gen_ai.request.stream';
export const GEN_AI_OUTPUT_TYPE = 'gen_ai.output.type';
export const GEN_AI_REQUEST_TEMPERATURE = 'gen_ai.request.temperature';
export const GEN_AI_RESPONSE_FINISH_REASONS = 'gen_ai.response.finish_reasons';
export const GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const GEN_AI_USAGE_INPUT_TOKENS = 'gen_ai.usage.input_tokens';
export const GEN_AI_USAGE_OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const GEN_AI_TOKEN_TYPE = 'gen_ai.token.type';
export const GEN_AI_TOOL_CALL_ID = 'gen_ai.tool.call.id';
export const GEN_AI_TOOL_TYPE = 'gen_ai.tool.type';
/** The convention's type for a tool that the agent's side calls. */
export const EXTENSION_TOOL = 'extension';
export const ERROR_TYPE = 'error.type';
export const HTTP_REQUEST_METHOD = 'http.request.method';
export const HTTP_RESPONSE_STATUS_CODE = 'http.response.status_code';
export const HTTP_ROUTE = 'http.route';
export const URL_PATH = 'url.path';
export const URL_SCHEME = 'url.scheme';
export const DB_POOL_NAME = 'db.client.connection.pool.name';
export const DB_CONNECTION_STATE = 'db.client.connection.state';
export const RUN_STATE = 'state';
export const CPU_MODE = 'cpu.mode';
export const EVENT_LOOP_STATE = 'nodejs.eventloop.state';

/** Replaces a tool or a connection without a label of its own. */
export const OTHER = 'other';
/** Values of `error.type`: a tool or its call failed; an attempt was interrupted. */
export const TOOL_ERROR = 'tool_error';
export const INTERRUPTED = 'interrupted';
/** The conventions' value for an unknown value. */
export const NOT_LISTED = '_OTHER';

export const TOOLS_CALL = 'tools/call';

/** The allowed values of `mcp.method.name`: the client's requests and notifications in all MCP revisions. */
export const MCP_METHODS: ReadonlySet<string> = new Set([
  TOOLS_CALL,
  'tools/list',
  'initialize',
  'ping',
  'server/discover',
  'completion/complete',
  'logging/setLevel',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'subscriptions/listen',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'notifications/cancelled',
  'notifications/initialized',
  'notifications/progress',
  'notifications/roots/list_changed',
]);
