import { createHash } from 'node:crypto';
import { DomainError } from '../domain-error.js';
import { parseJson } from '../is-record.js';
import { type FieldValue, readFieldValue } from './field-value.js';
import type { OrderTerm } from './list-order.js';
import type { SqlClause } from './where-clause.js';

/** The scope of a cursor: any other list, order or filter refuses it. */
export interface CursorScope {
  readonly list: string;
  readonly order: readonly OrderTerm[];
  readonly where: SqlClause | undefined;
}

/** Where the next page begins. */
export interface CursorPosition {
  /** The order values of the last row, one for each term of the order. */
  readonly values: readonly FieldValue[];
  /** The number of items of all pages, as the first page counted them. */
  readonly totalCount: number;
}

/**
 * An opaque keyset cursor: base64url of the JSON array `[checksum, total count, …order values of the last row]`. The
 * checksum covers the scope and the position. It detects accidental changes and mix-ups. It does not have to be a
 * signature: a cursor only says where to continue in rows that the caller can read anyway.
 */
export function encodeCursor(scope: CursorScope, { values, totalCount }: CursorPosition): string {
  const content = [totalCount, ...values];
  return Buffer.from(JSON.stringify([checksum(scope, content), ...content])).toString('base64url');
}

/**
 * The position in a cursor of this scope.
 * @throws DomainError `invalid_cursor`
 */
export function decodeCursor(scope: CursorScope, cursor: string): CursorPosition {
  const content = parseJson(Buffer.from(cursor, 'base64url').toString());
  const [, totalCount, ...rest]: unknown[] = Array.isArray(content) ? content : [];
  const values = readOrderValues(scope.order, rest);
  const position = values !== undefined && isCount(totalCount) ? { values, totalCount } : undefined;
  // Accepts only the exact text that this scope and this position encode to, so that one comparison detects every
  // change.
  if (position !== undefined && encodeCursor(scope, position) === cursor) return position;
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

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
