import type { Transport } from '@modelcontextprotocol/client';

/** A transport of the SDK, with the state of its connection. */
export interface SessionTransport extends Transport {
  /** The session that the upstream opened, if it assigned an id. */
  readonly sessionId: string | undefined;
  /**
   * True if the connection has ended, so that a new session is needed. Always false for a transport that connects for
   * each request.
   */
  readonly hasEnded: boolean;
  /** Why the connection ended, if it was not closed on request. */
  readonly fault: Error | undefined;
  /** Keeps the process behind it from counting as unused; returns a function that ends that. Absent without one. */
  watch?(): () => void;
  /** Ends the session at the upstream. May reject. */
  terminateSession(): Promise<void>;
}
