/** What one of the service's HTTP clients allows the servers that it talks to. */
interface HttpLimits {
  /** Sockets per origin; further requests wait in the dispatcher's line. */
  readonly socketsPerOrigin: number;
  /** The largest answer, unpacked, in bytes; for an event stream, all of its events together. */
  readonly maxAnswerBytes: number;
}

/** Milliseconds until a connection, name resolution and TLS handshake included, must stand. */
export const CONNECT_TIMEOUT_MS = 10_000;

/** For MCP servers. How long one may take to answer is a setting of its connection. */
export const UPSTREAM_LIMITS = {
  // More than `UpstreamSockets` ever gives out: requests wait for their turn before they reach the dispatcher.
  socketsPerOrigin: 2_048,
  maxAnswerBytes: 32 * 1024 * 1024,
  /** As much of an error answer as is read; the rest is dropped. */
  maxErrorAnswerBytes: 64 * 1024,
  /** How much longer than the call itself a socket may stay silent before it is given up, in milliseconds. */
  silenceMarginMs: 5_000,
} as const satisfies HttpLimits & Record<string, number>;

/** For model providers. */
export const PROVIDER_LIMITS = {
  // Beyond `RUN_CONCURRENCY`: no stream waits for a socket.
  socketsPerOrigin: 1_024,
  maxAnswerBytes: 64 * 1024 * 1024,
  /** The largest document or event, in bytes: a file of 20 MiB in base64 has 27 MiB. */
  maxEventBytes: 32 * 1024 * 1024,
  /** The most signs before values in an event (`ParseCost`): some providers repeat the tools of the request in one. */
  maxEventSigns: 65_536,
  /** The same where an event is a change. The SDK compares each piece of a tool call in it with all calls before it. */
  maxDeltaSigns: 16_384,
  /** As much of an error answer as is read; the rest is dropped. */
  maxErrorAnswerBytes: 64 * 1024,
  /** Milliseconds until the answer's headers must have arrived: the longest `first_chunk_timeout_s`. */
  headersTimeoutMs: 600_000,
  /** Milliseconds that the answer may stay silent once it has begun. */
  idleTimeoutMs: 120_000,
} as const satisfies HttpLimits & Record<string, number>;
