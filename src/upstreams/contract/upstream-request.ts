import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';

/** A request that an upstream of the legacy era sends to its client. */
export interface UpstreamRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** A call whose client answers requests of the upstream. */
export interface RequestReceiver {
  /** True if the client waits for the call, so that it can be asked at once. */
  readonly isWaitedFor: boolean;
  /**
   * Resolves with the client's result; undefined if the call ends before the client was asked. Rejects with the
   * `ProtocolError` that the upstream gets instead.
   */
  receiveRequest(request: UpstreamRequest): Promise<object | undefined>;
}

/** The answer to a request that no client has declared to answer. */
export function methodNotFound(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');
}
