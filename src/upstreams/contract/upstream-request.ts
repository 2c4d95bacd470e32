import { type ClientCapabilities, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';

/** A request that an upstream sends to its client; in the modern era, as a part of a result that asks for input. */
export interface UpstreamRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** A call whose client answers requests of the upstream. */
export interface RequestReceiver {
  /** True if the client waits for the call, so that it can be asked at once. */
  readonly isWaitedFor: boolean;
  /**
   * Resolves with the client's result; undefined if the call ends before the client was asked. Rejects with the error
   * that the upstream gets instead.
   * @param cancelled aborted when the upstream does not wait for the answer any more
   */
  receiveRequest(request: UpstreamRequest, cancelled?: AbortSignal): Promise<object | undefined>;
}

/**
 * The client of a call at an upstream of the modern era, which asks it by results (MCP 2026-07-28, "Multi Round-Trip
 * Requests").
 */
export interface AnsweringClient {
  /** What each request of the call declares. */
  readonly capabilities: ClientCapabilities;
  /**
   * Resolves with the client's results, by the keys of the requests. Rejects with the `ProtocolError` or
   * `UpstreamError` that fails the call.
   */
  answerRequests(requests: Readonly<Record<string, UpstreamRequest>>): Promise<Readonly<Record<string, object>>>;
}

/** The answer to a request that no client has declared to answer. */
export function methodNotFound(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');
}
