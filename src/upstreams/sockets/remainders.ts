import { FairShare } from './fair-share.js';

/** What may be left of an answer, in bytes, so that reading it is cheaper than a new connection with its handshakes. */
export const MAX_REMAINDER_BYTES = 256 * 1024;
/** How long the upstream has to send it, in milliseconds. Servers on the official SDKs end a stream some ms after the answer. */
export const REMAINDER_TIMEOUT_MS = 1_000;
/** Answers at once of which the rest is read, per process; of one origin at most half of them. */
const MAX_REMAINDERS = 512;

/**
 * The answers whose rest is read in the background, after their callers have what they wanted, so that the connection can be
 * used again. An upstream that never ends its answers holds no more of them than its share; beyond it, connections are closed.
 */
export class Remainders {
  private readonly share: FairShare;

  constructor(max = MAX_REMAINDERS) {
    this.share = new FairShare(max);
  }

  /** Returns how to give the place back, to be called once; undefined when there is none. */
  take(origin: string): (() => void) | undefined {
    if (!this.share.isOpenTo(origin)) return undefined;
    this.share.take(origin);
    return () => this.share.giveBack(origin);
  }
}
