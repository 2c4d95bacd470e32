import type { Transport } from '@modelcontextprotocol/client';

/** A transport of the SDK, with what a session must know of what it is carried by. */
export interface SessionTransport extends Transport {
  /** The session that the upstream opened, where it names one. */
  readonly sessionId: string | undefined;
  /** Has the connection ended, so that a new session is needed? A transport that connects for each request never has. */
  readonly hasEnded: boolean;
  /** Why the connection ended, if that was not asked for. */
  readonly fault: Error | undefined;
  /** Tells the upstream that the session is over. May reject. */
  terminateSession(): Promise<void>;
}
