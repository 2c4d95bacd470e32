import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Random bytes are fetched for many ids at once: the call costs more than the bytes. */
const ID_BYTES = 16;
const random = Buffer.alloc(256 * ID_BYTES);
let used = random.length;
let milliseconds = 0;
let sequence = 0;

/** A new time-ordered id (UUID version 7, RFC 9562 §5.7); those of one process ascend, also within a millisecond. */
export function newId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const own = random.subarray(used, (used += ID_BYTES));
  const now = Date.now();
  if (now > milliseconds) {
    milliseconds = now;
    // A random beginning with room above it: a millisecond is too short to use it up.
    sequence = own.readUInt32BE() >>> 2;
  } else {
    sequence++;
  }
  return v7({ random: own, msecs: milliseconds, seq: sequence });
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** The caller's `x-request-id` if it is well-formed, else a new one. */
export function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : newId();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Is this text a UUID? A look-up by anything else finds nothing, and PostgreSQL would refuse to compare it. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Ids that callers may choose (threads, messages): 1 to 128 of these. */
export const CALLER_ID = /^[A-Za-z0-9_-]{1,128}$/;
