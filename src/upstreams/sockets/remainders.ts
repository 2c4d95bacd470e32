import { FairShare } from './fair-share.js';

/** Up to this many bytes, draining an answer is cheaper than a new connection with its handshakes. */
export const MAX_REMAINDER_BYTES = 256 * 1024;
/**
 * The time limit for draining, in milliseconds. Servers on the official SDKs end a stream a few milliseconds after the
 * answer.
 */
export const REMAINDER_TIMEOUT_MS = 1_000;
/** How many answers a process drains at a time; one origin gets at most half of them. */
const MAX_REMAINDERS = 512;

/**
 * The answers that are drained in the background, so that their connections can be reused. An upstream that never ends
 * its answers gets only its share of them; beyond it, connections are closed.
 */
export class Remainders {
  private readonly share: FairShare;

  constructor(max = MAX_REMAINDERS) {
    this.share = new FairShare(max);
  }

  /** Returns a function that releases the place, to be called once; undefined if there is none. */
  take(origin: string): (() => void) | undefined {
    if (!this.share.isOpenTo(origin)) return undefined;
    this.share.take(origin);
    return () => this.share.giveBack(origin);
  }
}
