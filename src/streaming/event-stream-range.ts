import { DomainError } from '../common/domain-error.js';
import { elementsOf } from '../common/list-header.js';

/** How a caller asks for an event stream. */
export interface EventStreamRange {
  /** The major version of the npm package `ai` that reads the stream; undefined if the caller does not say. */
  readonly aiVersion: number | undefined;
}

const EVENT_STREAM = 'text/event-stream';
const REFUSED = /^q\s*=\s*0(?:\.0{0,3})?$/;
const AI_VERSION = /^ai\s*=\s*(?:"(.*)"|(.*))$/;

/** What the reference says of the parameter. */
export const READS_VERSION =
  '`Accept: text/event-stream;ai=6` leaves out the chunks that version 6 of the npm package `ai` cannot read.';

/** The oldest version that reads approvals. */
const OLDEST_AI_VERSION = 6;

/**
 * Finds `text/event-stream`, which has to be named, among the media ranges of `Accept` (RFC 9110 §12.5.1).
 * Its parameter `ai` says which version reads the stream: `text/event-stream;ai=6`.
 * @throws DomainError `invalid_request` for a version that is malformed or too old
 */
export function eventStreamRange(accept: string | undefined): EventStreamRange | undefined {
  for (const item of elementsOf(accept)) {
    const [range = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    if (range !== EVENT_STREAM || parameters.some((parameter) => REFUSED.test(parameter))) continue;
    return { aiVersion: aiVersionOf(parameters) };
  }
  return undefined;
}

function aiVersionOf(parameters: readonly string[]): number | undefined {
  for (const parameter of parameters) {
    const [match, quoted, plain = ''] = AI_VERSION.exec(parameter) ?? [];
    if (match === undefined) continue;
    const text = quoted ?? plain;
    if (/^\d{1,4}$/.test(text) && Number(text) >= OLDEST_AI_VERSION) return Number(text);
    const message = `ai must be a major version of the npm package \`ai\`, ${OLDEST_AI_VERSION} or later.`;
    throw new DomainError('invalid_request', `Accept: ${message}`, [{ path: 'Accept', code: 'ai', message }]);
  }
  return undefined;
}
