/**
 * What went wrong, as far as a caller must tell it apart:
 * `unreachable` no connection, or the upstream reports that it cannot serve (429, 5xx) · `unauthorized` it does not accept
 * the stored credential · `timeout` no answer in time · `protocol` it answered, but not with MCP, or beyond our limits ·
 * `rpc` it answered with a JSON-RPC error · `refused_address` the address policy refuses it · `cancelled` we gave up first ·
 * `session_lost` it has forgotten the session, and not taken the request · `busy` we have no socket or process left for it.
 */
export type UpstreamErrorKind =
  | 'unreachable'
  | 'unauthorized'
  | 'timeout'
  | 'protocol'
  | 'rpc'
  | 'refused_address'
  | 'cancelled'
  | 'session_lost'
  | 'busy';

/** A JSON-RPC error as the upstream sent it. It may quote arguments: relay it to the caller, never log it. */
export interface UpstreamRpcError {
  code: number;
  message: string;
  data?: unknown;
}

/**
 * A failed exchange with an upstream. The message is a sentence for the caller that holds no header, body or credential,
 * and there is deliberately no `cause`: the errors underneath quote what the upstream sent.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /** Present exactly when `kind` is `rpc`. */
  readonly rpc?: UpstreamRpcError;
  /** The HTTP status, when one decided the kind. */
  readonly status?: number;

  constructor(
    readonly kind: UpstreamErrorKind,
    message: string,
    details: { rpc?: UpstreamRpcError; status?: number } = {},
  ) {
    super(message);
    if (details.rpc !== undefined) this.rpc = details.rpc;
    if (details.status !== undefined) this.status = details.status;
  }
}

/**
 * Something an upstream did that MCP does not allow or that exceeds our limits. The message completes the sentence
 * "The upstream at <address> …"; `toUpstreamError` turns it into one of kind `protocol`.
 */
export class UpstreamMisbehaviour extends Error {
  override readonly name = 'UpstreamMisbehaviour';
}
