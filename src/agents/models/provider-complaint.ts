import { APICallError, StreamProviderError, TypeValidationError } from 'ai';
import { isRecord, parseJson } from '../../core/is-record.js';

/** What a provider says about a call that it refused, or broke off within its stream. */
export interface ProviderComplaint {
  /** The HTTP status, or the one that the provider wrote into its stream. */
  status: number | undefined;
  /** The names of the error in all fields in which providers put them: types, codes and statuses. */
  reasons: readonly string[];
  /** The message of an error document, in which `hidingKey` has replaced secrets; undefined for errors in streams. */
  message: string | undefined;
  isRetryable: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** Where AWS names the error: `ThrottlingException:http://internal.amazon.com/…`. */
const AWS_ERROR_HEADER = 'x-amzn-errortype';

/**
 * Reads an error of the SDK, or an error that a provider wrote into its stream; undefined for any other error. Knows
 * the documents of
 * - OpenAI, Azure and Anthropic: `{error: {message, type, code}}`, and of Azure's gateway `{statusCode, message}`
 * - Google: `{error: {code, message, status, details: [{reason}]}}`, also as the only element of a list
 *   (https://cloud.google.com/apis/design/errors)
 * - AWS: `{message}` or `{Message}` with `__type` or a header
 *   (https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html)
 * - Mistral: `{object: 'error', message, type, code}`, and for an invalid request `{detail: [{loc, msg}]}`
 */
export function complaintOf(error: unknown): ProviderComplaint | undefined {
  if (APICallError.isInstance(error)) return ofCall(error);
  if (StreamProviderError.isInstance(error)) return ofFrame(error as unknown as Json, error.isRetryable);
  // The SDK of Mistral takes a frame that is no chunk of an answer for an invalid one.
  if (TypeValidationError.isInstance(error)) return isRecord(error.value) ? ofFrame(error.value) : undefined;
  // Without the agent loop of the SDK, errors in streams are parts of the stream as the provider's package made them.
  return isRecord(error) && !('stack' in error) ? ofFrame(error, error['isRetryable'] === true) : undefined;
}

function ofCall(error: APICallError): ProviderComplaint {
  const { data, message, statusCode: status, isRetryable, responseBody, responseHeaders = {} } = error;
  // The SDKs drop what their schemas do not name, such as `__type`.
  const document = withoutList(parseJson(responseBody ?? '') ?? data);
  const header = responseHeaders[AWS_ERROR_HEADER];
  const said = data === undefined ? messageIn(document) : message;
  // Secrets are replaced in documents only.
  const isDocument = !(responseHeaders['content-type'] ?? '').startsWith('text/event-stream');
  return {
    status,
    reasons: [...(header === undefined ? [] : [nameOf(header)]), ...reasonsIn(document)],
    message: isDocument ? said : undefined,
    isRetryable,
  };
}

function ofFrame(frame: Json, isRetryable?: boolean): ProviderComplaint | undefined {
  const inner = innerError(frame);
  const status = [frame['statusCode'], frame['raw_status_code'], inner['code'], inner['status']].find(isErrorStatus);
  const reasons = reasonsIn(frame);
  if (status === undefined && reasons.length === 0) return undefined;
  const canRetry = status !== undefined && (status === 408 || status === 429 || status >= 500);
  return { status, reasons, message: undefined, isRetryable: isRetryable ?? canRetry };
}

/** The names in an error and in the details of Google's errors. */
function reasonsIn(document: unknown): string[] {
  if (!isRecord(document)) return [];
  const error = innerError(document);
  const details = Array.isArray(error['details']) ? error['details'].filter(isRecord) : [];
  return [
    error['status'],
    error['code'],
    error['type'],
    document['__type'],
    ...details.map(({ reason }) => reason),
  ].flatMap((name) => (typeof name === 'string' && name !== '' ? [nameOf(name)] : []));
}

function messageIn(document: unknown): string | undefined {
  if (!isRecord(document)) return undefined;
  const error = innerError(document);
  const { message = document['Message'], detail } = error;
  if (typeof message === 'string') return message;
  // Mistral puts the faults of a request into the message, too.
  const faults = detail ?? (isRecord(message) ? message['detail'] : undefined);
  if (typeof faults === 'string') return faults;
  if (!Array.isArray(faults)) return undefined;
  return faults
    .filter(isRecord)
    .map(({ loc, msg }) => `${Array.isArray(loc) ? loc.join('.') : ''}: ${String(msg)}`)
    .join('; ');
}

/** What most APIs wrap into `error`. */
function innerError(document: Json): Json {
  return isRecord(document['error']) ? document['error'] : document;
}

function withoutList(document: unknown): unknown {
  return Array.isArray(document) ? document[0] : document;
}

/** The name in `com.amazonaws.bedrock#ThrottlingException` or `ThrottlingException:http://…`. */
function nameOf(text: string): string {
  return text.replace(/^.*#/, '').replace(/:.*$/s, '');
}

function isErrorStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value < 600;
}
