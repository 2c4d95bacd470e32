/**
 * Every name that telemetry puts on the wire. `connection.*` and `mcp.proxy.*` are this service's interface ("Events"),
 * `mcp.gateway.*` is an addition of its own;
 * the others are OpenTelemetry's semantic conventions: MCP (docs/gen-ai/mcp.md of semantic-conventions-genai, in
 * development), process and Node.js runtime. Durations are seconds.
 */

/**
 * The release of OpenTelemetry's semantic conventions whose GenAI spans and metrics runs are reported by (docs/gen-ai of
 * open-telemetry/semantic-conventions, in development). It is the last one with them; they went on in a repository of their own, without
 * releases. Its constants are copied, as the conventions advise for what is in development.
 */
export const GEN_AI_CONVENTIONS = '1.41.1';

/** The instrumentation scope of all that this service measures. */
export const SCOPE_NAME = 'signalbox';

/** The three metrics of proxied requests, and the same three of the streaming endpoint. */
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
/** Ours: how often a connection was missing from a list that an agent put together. */
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

/** Of tool calls. A span of any other request is named by its MCP method, as the convention has it. */
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

/*
 * Of the GenAI convention, instructions, messages, and arguments and results of tools are left out: they are content.
 * Of the MCP convention, `jsonrpc.request.id`, `mcp.session.id`, `mcp.resource.uri`, `gen_ai.tool.call.arguments` and
 * `.result` are left out on purpose: they hold what callers and upstreams wrote, or open a session.
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
export const GEN_AI_REQUEST_MODEL = 'gen_ai.request.model';
export const GEN_AI_REQUEST_STREAM = 'gen_ai.request.stream';
export const GEN_AI_REQUEST_TEMPERATURE = 'gen_ai.request.temperature';
export const GEN_AI_RESPONSE_FINISH_REASONS = 'gen_ai.response.finish_reasons';
export const GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const GEN_AI_USAGE_INPUT_TOKENS = 'gen_ai.usage.input_tokens';
export const GEN_AI_USAGE_OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const GEN_AI_TOKEN_TYPE = 'gen_ai.token.type';
export const GEN_AI_TOOL_CALL_ID = 'gen_ai.tool.call.id';
export const GEN_AI_TOOL_TYPE = 'gen_ai.tool.type';
/** The convention's word for a tool that the agent's side calls itself. */
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

/** Stands for a tool or a connection that gets no label of its own. */
export const OTHER = 'other';
/** Values of `error.type`: a tool or its call failed; an attempt was stopped in the middle. */
export const TOOL_ERROR = 'tool_error';
export const INTERRUPTED = 'interrupted';
/** The conventions' value for what is not one of the known ones. */
export const NOT_LISTED = '_OTHER';

export const TOOLS_CALL = 'tools/call';

/** What may stand in `mcp.method.name`: the requests and notifications of all MCP revisions that a client sends. */
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
