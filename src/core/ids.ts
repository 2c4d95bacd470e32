import { randomBytes, randomInt } from 'node:crypto';
import { CREDENTIAL_FORM, holdsCredential } from './credential-forms.js';

/**
 * `node` of RFC 9562: 48 random bits, in hex. They are generated for many ids at once, because the call costs more than
 * the bytes.
 */
const TAIL_LENGTH = 12;
const TAILS_AT_ONCE = 256;
/** The counter has 26 bits and begins below 2^24, so a millisecond is too short to use it up. */
const FIRST_COUNTER_BELOW = 2 ** 24;
const MAX_COUNTER = 2 ** 26 - 1;
/** Its upper 12 bits behind the version, and its lower 14 behind the variant. */
const UPPER = Array.from({ length: 2 ** 12 }, (_, bits) => `7${bits.toString(16).padStart(3, '0')}`);
const LOWER = Array.from({ length: 2 ** 14 }, (_, bits) => (0x8000 | bits).toString(16));

let tails = '';
let used = 0;
let milliseconds = 0;
let time = '';
let counter = 0;

/**
 * A new time-ordered id (UUID version 7, RFC 9562 §5.7, with a counter as in §6.2, method 1); ids of one process
 * ascend, also within a millisecond. It is assembled from precomputed text, because every request needs several.
 */
export function newId(): string {
  const now = Date.now();
  if (now > milliseconds) begin(now);
  // Also when the clock was set back and has not caught up yet.
  else if (++counter > MAX_COUNTER) begin(milliseconds + 1);
  return `${time}-${UPPER[counter >> 14]}-${LOWER[counter & 0x3fff]}-${nextTail()}`;
}

function begin(now: number): void {
  const hex = now.toString(16).padStart(12, '0');
  milliseconds = now;
  time = `${hex.slice(0, 8)}-${hex.slice(8)}`;
  counter = randomInt(FIRST_COUNTER_BELOW);
}

function nextTail(): string {
  if (used === tails.length) {
    tails = randomBytes((TAILS_AT_ONCE * TAIL_LENGTH) / 2).toString('hex');
    used = 0;
  }
  return tails.slice(used, (used += TAIL_LENGTH));
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's `x-request-id` if it is well-formed and contains no credential, otherwise a new one. */
export function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && REQUEST_ID.test(header) && !holdsCredential(header) ? header : newId();
}

const UUID = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/;

/**
 * True if the text is a UUID. A look-up by any other text finds nothing, and PostgreSQL would reject the comparison.
 */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Ids that callers can choose (threads, messages): 1 to 128 of these characters, and no credential. */
export const CALLER_ID = new RegExp(`^(?!.*(?:${CREDENTIAL_FORM}))[A-Za-z0-9_-]{1,128}$`);
