/**
 * Every name that telemetry puts on the wire. `connection.*` and `mcp.proxy.*` are this service's interface ("Events"),
 * `mcp.gateway.*` is an addition of its own;
 * the others are OpenTelemetry's semantic conventions: MCP (docs/gen-ai/mcp.md of semantic-conventions-genai, in
 * development), process and Node.js runtime. Durations are seconds.
 */

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

/*
 * Of the MCP convention, `jsonrpc.request.id`, `mcp.session.id`, `mcp.resource.uri`, `gen_ai.tool.call.arguments` and
 * `.result` are left out on purpose: they hold what callers and upstreams wrote, or open a session.
 */
export const MCP_METHOD_NAME = 'mcp.method.name';
export const GEN_AI_TOOL_NAME = 'gen_ai.tool.name';
export const GEN_AI_OPERATION_NAME = 'gen_ai.operation.name';
export const EXECUTE_TOOL = 'execute_tool';
export const ERROR_TYPE = 'error.type';
export const CPU_MODE = 'cpu.mode';
export const EVENT_LOOP_STATE = 'nodejs.eventloop.state';

/** Stands for a tool or a connection that gets no label of its own. */
export const OTHER = 'other';
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
