import { createHash } from 'node:crypto';
import { DomainError } from '../domain-error.js';
import { type FieldValue, readFieldValue } from './field-value.js';
import type { OrderTerm } from './list-order.js';
import type { SqlClause } from './sql-clause.js';

/** The scope of a cursor: any other list, order or filter refuses it. */
export interface CursorScope {
  readonly list: string;
  readonly order: readonly OrderTerm[];
  readonly where: SqlClause | undefined;
}

/**
 * An opaque keyset cursor: base64url of the JSON array `[checksum, …order values of the last row]`. The checksum covers
 * the scope and the values. It detects accidental changes and mix-ups. It does not have to be a signature: a cursor
 * only says where to continue in rows that the caller can read anyway.
 */
export function encodeCursor(scope: CursorScope, values: readonly FieldValue[]): string {
  return Buffer.from(JSON.stringify([checksum(scope, values), ...values])).toString('base64url');
}

/**
 * The order values in a cursor of this scope, one for each term of the order.
 * @throws DomainError `invalid_cursor`
 */
export function decodeCursor(scope: CursorScope, cursor: string): readonly FieldValue[] {
  const content = parseJson(Buffer.from(cursor, 'base64url').toString());
  const values = readOrderValues(scope.order, Array.isArray(content) ? content.slice(1) : []);
  // Accepts only the exact text that this scope and these values encode to, so that one comparison detects every
  // change.
  if (values !== undefined && encodeCursor(scope, values) === cursor) return values;
  throw new DomainError(
    'invalid_cursor',
    'Send the nextCursor of the previous page unchanged, with the same orderBy and where.',
  );
}

function checksum({ list, order, where }: CursorScope, values: readonly FieldValue[]): string {
  const terms = order.map(({ name, direction }) => [name, direction]);
  const text = JSON.stringify([list, terms, where?.sql, where?.parameters, values]);
  return createHash('sha256').update(text).digest().subarray(0, 12).toString('base64url');
}

function readOrderValues(order: readonly OrderTerm[], content: readonly unknown[]): FieldValue[] | undefined {
  const values = order.map(({ field }, index) => readFieldValue(field, content[index]));
  return values.every((value) => value !== undefined) ? values : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
