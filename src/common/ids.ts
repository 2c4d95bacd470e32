import { v7 } from 'uuid';

/** A new time-ordered id (UUID version 7, RFC 9562 §5.7). */
export function newId(): string {
  return v7();
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
