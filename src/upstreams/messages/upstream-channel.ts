import { ProtocolError } from '@modelcontextprotocol/client';
import type { AnswerRoom } from '../../core/answers/answer-room.js';
import type { LogLevel } from '../contract/log-level.js';
import { type AnsweringClient, methodNotFound, type RequestReceiver } from '../contract/upstream-request.js';
import { type AnswerBody, discard } from './answer-body.js';
import { isRecord, parseRecord } from '../../core/is-record.js';

/** One JSON-RPC message to an upstream. Its bytes are sent unchanged. */
export interface OutgoingMessage {
  readonly body: Buffer;
  /** Absent for an answer to a request of the upstream. */
  readonly method?: string;
  /** The id of a request as JSON text (`7`, `"a"`); absent for notifications and answers. */
  readonly id?: string;
  /**
   * True if this is a tool call to make as a task, and to answer with the task's result. Only in sessions of the
   * service.
   */
  readonly asTask?: boolean;
  /** True if this is a request of the modern era, for a program that supports it. Only in sessions of the service. */
  readonly hasEnvelope?: boolean;
}

export interface ExchangeOptions {
  /** Aborting it ends the exchange on both sides. It can be created on access, so read it only if necessary. */
  readonly signal: AbortSignal;
  /** Calls back when the signal aborts, at once if it already has. Used instead of the signal if present. */
  readonly onStop?: (callback: () => void) => void;
  /** The caller's key (`keyOfCaller`); by default the service itself. */
  readonly caller?: string;
  /** Request headers for the upstream, with lower-case names. HTTP only. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Receives requests that the upstream sends during the exchange and that do not name it. The answer can be silent for
   * any time then, while the client is asked. Only in sessions of the service.
   */
  readonly receiver?: RequestReceiver | undefined;
  /** Answers what an upstream of the modern era asks for. Only in sessions of the service. */
  readonly answeringClient?: AnsweringClient | undefined;
  /**
   * From which level on the answer contains log messages of an upstream that cannot receive the bytes of the message.
   * Only in sessions of the service.
   */
  readonly logLevel?: LogLevel | undefined;
  /** The room for an answer that is read whole before it is passed on. It can be created on access. */
  readonly room?: AnswerRoom | undefined;
}

/** An upstream's answer as an HTTP response: JSON for one message, an event stream (SSE) for several. */
export interface UpstreamAnswer {
  readonly status: number;
  /** Lower-case media type without parameters, such as `application/json`; undefined without a body. */
  readonly contentType: string | undefined;
  /** The session that the upstream opened with this answer. */
  readonly sessionId?: string;
  /** Response headers to relay, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** True if the client of the call can be asked before its answer has ended (`answeringClient`). */
  readonly canAsk?: boolean;
  /** A stream must be read to its end or discarded. */
  readonly body: AnswerBody;
}

/** One MCP session with an upstream of any kind, as bytes. Methods reject only with `UpstreamError`. */
export interface UpstreamChannel {
  /**
   * Sends a message. A request is answered with JSON or an event stream that ends with its response, anything else with
   * 202.
   */
  postMessage(message: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer>;
  /** Opens the stream of messages that belong to no request (GET). */
  listen(options: ExchangeOptions): Promise<UpstreamAnswer>;
  /** Ends the session (DELETE). */
  end(options: ExchangeOptions): Promise<UpstreamAnswer>;
}

/** The upstream session of a channel; empty for an upstream without sessions. */
export interface ChannelSession {
  readonly id?: string;
  /** Sent as `MCP-Protocol-Version`, unless the headers of the exchange contain it. */
  readonly protocolVersion?: string;
}

/**
 * True if this answer says that the upstream no longer knows the session, and so did not process the request. The
 * specification requires 404. Servers based on old SDK examples answer 400 with an error that mentions the session and,
 * because they have not read the request, has no id.
 */
export function isSessionLost(status: number, body: string): boolean {
  if (status !== 400) return status === 404;
  const { id, error } = parseRecord(body) ?? {};
  return id == null && isRecord(error) && typeof error['message'] === 'string' && /\bsession\b/i.test(error['message']);
}

const ANSWER_TIMEOUT_MS = 10_000;

/** Sends the upstream what it asked for, or the error if there is none. Never rejects. */
export async function answerRequest(
  channel: Pick<UpstreamChannel, 'postMessage'>,
  id: string | number,
  answering: Promise<object | undefined> | undefined,
  caller?: string,
): Promise<void> {
  const answer = await Promise.resolve(answering).then(
    (result) => (result === undefined ? errorOf(undefined) : { result }),
    errorOf,
  );
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  const options = { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS), ...(caller !== undefined && { caller }) };
  await channel.postMessage({ body }, options).then(
    ({ body: rest }) => discard(rest),
    () => undefined,
  );
}

function errorOf(error: unknown): object {
  const { code, message } = error instanceof ProtocolError ? error : methodNotFound();
  return { error: { code, message } };
}
