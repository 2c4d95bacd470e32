import type { CallToolResult, Implementation, Progress, Tool, ServerCapabilities } from '@modelcontextprotocol/client';
import type { ChangeListener, Listening, WantedChanges } from './list-change.js';
import type { AnswerRoom } from '../../core/answers/answer-room.js';
import type { LogLevel } from './log-level.js';
import type { AnsweringClient, RequestReceiver } from './upstream-request.js';
import { isRecord } from '../../core/is-record.js';

/** How an upstream describes itself at the start of a session (`initialize` or `server/discover`). */
export interface ServerDescription {
  /** True if it supports the modern era (MCP 2026-07-28). It may support the legacy era as well. */
  readonly isModern: boolean;
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: ServerCapabilities;
}

/** A tool as the upstream lists it, including members that this version of MCP does not define. */
export type UpstreamTool = Tool;

/** Who wants log messages of a call. */
interface CallLog {
  /**
   * The least severe ones. An upstream of the legacy era has this level only if it was required (`requireLogLevel`).
   */
  readonly level: LogLevel;
  /** Called with the params of each message, of any level. */
  readonly take: (params: object) => void;
}

export interface CallToolOptions {
  /** Aborting it cancels the call at the upstream. */
  signal?: AbortSignal;
  /** Milliseconds for the whole call, connecting included; at most and by default the target's. */
  timeoutMs?: number;
  onProgress?: (progress: Progress) => void;
  /** The caller's key (`keyOfCaller`); by default the service itself. */
  caller?: string;
  /** Sent to the upstream as `x-request-id`, if it is called over HTTP. */
  requestId?: string;
  /** True if the tool is called as a task, whose result is awaited (`isTaskOnly`). */
  asTask?: boolean;
  /**
   * Receives requests that the upstream sends to its client during the call, in a session that declares capabilities.
   * The call then has no time limit but its signal.
   */
  receiver?: RequestReceiver | undefined;
  /** Answers what an upstream of the modern era asks for. The time limit starts again with its answers. */
  answeringClient?: AnsweringClient | undefined;
  /**
   * Which log messages of the call are wanted. Those that name no call are passed on only in a session of one caller.
   */
  log?: CallLog | undefined;
  /** The room for the answer; absent: the answer counts towards no memory. */
  room?: AnswerRoom | undefined;
  /** W3C trace context, sent to the upstream where it takes headers. */
  traceHeaders?: Readonly<Record<string, string>>;
}

export type ListToolsOptions = Pick<CallToolOptions, 'signal' | 'room'>;

/** Who listens, and what ends the wait for the connection. */
export type ListenOptions = Pick<CallToolOptions, 'signal' | 'caller'>;

/**
 * The MCP client of one connection, whatever its kind. It connects with the first request, keeps one session, and opens
 * a new one when the upstream no longer knows it. Methods reject only with `UpstreamError`.
 */
export interface Upstream {
  /** The negotiated MCP revision, such as `2025-11-25`; undefined until the first request. */
  readonly protocolVersion: string | undefined;
  /**
   * True if the upstream keeps no state between requests, because it has opened no session. Undefined while that is not
   * known.
   */
  readonly isStateless: boolean | undefined;
  /** The upstream's description of itself; opens the session if there is none. */
  serverDescription(signal?: AbortSignal): Promise<ServerDescription>;
  /** All tools of the upstream, from every page of the list; empty for an upstream without tools. */
  listTools(options?: ListToolsOptions): Promise<UpstreamTool[]>;
  /** The result of the tool as the upstream sent it; a tool that failed is a result too (`isError`). */
  callTool(name: string, args: Record<string, unknown>, options?: CallToolOptions): Promise<CallToolResult>;
  /**
   * Sends any other request of an MCP client (`resources/read`, `prompts/get`, …) and returns the result as the
   * upstream sent it.
   * @param params without `_meta.progressToken`, which the client sets
   */
  request(method: string, params: Record<string, unknown> | undefined, options?: CallToolOptions): Promise<object>;
  /**
   * Has an upstream of the legacy era log from this level on, for everyone in the session. A failure is ignored.
   */
  requireLogLevel(level: LogLevel, options: ListenOptions): Promise<void>;
  /**
   * Listens to the changes that the upstream reports in the session; connects if necessary. Undefined if it reports
   * none outside of its answers.
   */
  listenForChanges(
    wanted: WantedChanges,
    listener: ChangeListener,
    options: ListenOptions,
  ): Promise<Listening | undefined>;
  /** Ends the session; active requests fail with `cancelled`. Never rejects. */
  close(): Promise<void>;
}

/** True if this listed item has what every tool must have: a name, and a schema that is an object (MCP, "Tool"). */
export function isTool(value: unknown): value is UpstreamTool {
  return isRecord(value) && typeof value['name'] === 'string' && isRecord(value['inputSchema']);
}
