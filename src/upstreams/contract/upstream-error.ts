/**
 * The kinds of failures that callers distinguish: `unreachable` no connection, or the upstream reports that it cannot
 * serve (429, 5xx) · `unauthorized` it does not accept the stored credential · `timeout` no answer in time · `protocol`
 * its answer violates MCP or exceeds the limits · `rpc` it answered with a JSON-RPC error · `refused_address` the
 * address policy refuses it · `cancelled` the service ended the request · `session_lost` it no longer knows the session
 * and did not process the request · `busy` no socket, process or memory is free for it · `authorization_required` a
 * person has to authorize the account at it first.
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
  | 'busy'
  | 'authorization_required';

/** A JSON-RPC error as the upstream sent it. It can quote arguments: relay it to the caller, but never log it. */
export interface UpstreamRpcError {
  code: number;
  message: string;
  data?: unknown;
}

/**
 * A failed exchange with an upstream. The message is a sentence for the caller without any header, body or credential.
 * There is deliberately no `cause`, because the underlying errors quote what the upstream sent.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /** Present exactly when `kind` is `rpc`. */
  readonly rpc?: UpstreamRpcError;
  /** The HTTP status, if one decided the kind. */
  readonly status?: number;
  /** The page on which a person authorizes the account; present exactly when `kind` is `authorization_required`. */
  readonly authorizationUrl?: string;

  constructor(
    readonly kind: UpstreamErrorKind,
    message: string,
    details: { rpc?: UpstreamRpcError; status?: number; authorizationUrl?: string | undefined } = {},
  ) {
    super(message);
    if (details.rpc !== undefined) this.rpc = details.rpc;
    if (details.status !== undefined) this.status = details.status;
    if (details.authorizationUrl !== undefined) this.authorizationUrl = details.authorizationUrl;
  }
}

/**
 * An upstream violated MCP or exceeded the limits of this service. The message completes the sentence "The upstream at
 * <address> …"; `toUpstreamError` turns it into one of kind `protocol`.
 */
export class UpstreamMisbehaviour extends Error {
  override readonly name = 'UpstreamMisbehaviour';
}
