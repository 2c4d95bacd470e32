import type { AnswerBody } from './answer-body.js';

/** One JSON-RPC message on its way to an upstream. Its bytes are sent as they are. */
export interface OutgoingMessage {
  readonly body: Buffer;
  /** Absent for an answer to a request of the upstream. */
  readonly method?: string;
  /** The id of a request as JSON text (`7`, `"a"`); absent for notifications and answers. */
  readonly id?: string;
}

export interface ExchangeOptions {
  /** Aborting it ends the exchange on both sides. Read only where it is needed: it may be made by being read. */
  readonly signal: AbortSignal;
  /** Calls back when the signal aborts, at once if it has. Used instead of the signal where it is there. */
  readonly onStop?: (callback: () => void) => void;
  /** In whose name (`keyOfCaller`); without it, the service's own. */
  readonly caller?: string;
  /** Request headers for the upstream that come from the caller or the service, lower-case names. HTTP only. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What an upstream answers, as an HTTP response: JSON for one message, an event stream (SSE) for several. */
export interface UpstreamAnswer {
  readonly status: number;
  /** Lower-case media type without parameters, such as `application/json`; undefined when there is no body. */
  readonly contentType: string | undefined;
  /** The session that the upstream opened with this answer. */
  readonly sessionId?: string;
  /** Response headers that may be relayed, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A stream must be read to its end or discarded. */
  readonly body: AnswerBody;
}

/** One MCP session with an upstream of whatever kind, as bytes. Every method rejects with `UpstreamError` and nothing else. */
export interface UpstreamChannel {
  /** Sends a message. A request is answered by JSON or an event stream that ends with its response, anything else by 202. */
  post(message: OutgoingMessage, options: ExchangeOptions): Promise<UpstreamAnswer>;
  /** Opens the stream of messages that belong to no request (GET). */
  listen(options: ExchangeOptions): Promise<UpstreamAnswer>;
  /** Ends the session (DELETE). */
  end(options: ExchangeOptions): Promise<UpstreamAnswer>;
}
