import { types } from 'node:util';
import { AISDKError, StreamProviderError } from 'ai';
import { isRecord } from '../../../core/is-record.js';

type Json = Readonly<Record<string, unknown>>;

/** The statuses of messages that providers write without one. */
const STATUS_OF_MESSAGE: ReadonlyMap<string, number> = new Map([
  ['overloaded', 503],
  ['overloaded error', 503],
  ['model overloaded', 503],
  ['internal server error', 500],
  ['service unavailable', 503],
]);

/**
 * The error that a provider has written into its stream: a document with a message as a `StreamProviderError`, as
 * `streamText` of the AI SDK makes it, and anything else as it is.
 */
export function streamError(written: unknown): unknown {
  if (!isRecord(written) || isError(written)) return written;
  const inner = errorIn(written['response']) ?? errorIn(written) ?? written;
  const { message } = inner;
  if (typeof message !== 'string') return written;
  const both = [inner, written];
  const named = STATUS_OF_MESSAGE.get(message.trim().toLowerCase());
  const type = valuesOf(both, 'type').find(isString);
  const code = valuesOf(both, 'code').find((value) => isString(value) || typeof value === 'number');
  const statusCode =
    valuesOf(both, 'statusCode', 'status_code', 'status', 'code').map(toStatus).find(isNumber) ?? named;
  const isRetryable =
    valuesOf(both, 'isRetryable', 'is_retryable').find((value) => typeof value === 'boolean') ??
    (named === undefined ? undefined : true);
  return new StreamProviderError({
    message,
    data: written,
    ...(type !== undefined && { type }),
    ...(code !== undefined && { code }),
    ...(statusCode !== undefined && { statusCode }),
    ...(isRetryable !== undefined && { isRetryable }),
  });
}

/** Also an error of another realm. */
function isError(value: unknown): boolean {
  return types.isNativeError(value) || AISDKError.isInstance(value);
}

function errorIn(document: unknown): Json | undefined {
  return isRecord(document) && isRecord(document['error']) ? document['error'] : undefined;
}

/** The values of the fields in turn, each in all documents. */
function valuesOf(documents: readonly Json[], ...fields: readonly string[]): unknown[] {
  return fields.flatMap((field) => documents.map((document) => document[field]));
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

/** The HTTP status of an error that a value is, also as a text. */
function toStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599 ? Number(status) : undefined;
}
