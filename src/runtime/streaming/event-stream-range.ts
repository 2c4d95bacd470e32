import { faultAt } from '../../core/domain-error.js';
import { OLDEST_AI_VERSION } from './frame-form.js';

/** How a caller asks for an event stream. */
interface EventStreamRange {
  /** The major version of the npm package `ai` that reads the stream; undefined if the caller does not say. */
  readonly aiVersion: number | undefined;
}

const EVENT_STREAM = 'text/event-stream';
const WEIGHT = /^q\s*=\s*([01](?:\.\d{0,3})?)$/;
/** The ranges that a JSON answer matches, the most specific one first. */
const JSON_RANGES = ['application/json', 'application/*', '*/*'];
const AI_VERSION = /^ai\s*=\s*(?:"(.*)"|(.*))$/;

/** What the reference says of the parameter. */
export const READS_VERSION =
  '`Accept: text/event-stream;ai=6` (or `ai=5`) leaves out the chunks that this version of the npm package `ai` cannot ' +
  'read.';

/**
 * Finds `text/event-stream`, which has to be named, among the media ranges of `Accept` (RFC 9110 §12.5.1).
 * Its parameter `ai` says which version reads the stream: `text/event-stream;ai=6`.
 * @throws DomainError `invalid_request` for a version that is malformed or too old
 */
export function eventStreamRange(accept: string | undefined): EventStreamRange | undefined {
  const range = rangesOf(accept).find(({ name, weight }) => name === EVENT_STREAM && weight > 0);
  return range === undefined ? undefined : { aiVersion: aiVersionOf(range.parameters) };
}

/**
 * As `eventStreamRange`, for a caller who can have the answer as JSON, too: undefined if it wants that one. Of equal
 * weights, JSON wins where both are named, and what is named wins over a wildcard.
 * @throws DomainError `invalid_request` for a version that is malformed or too old
 */
export function preferredEventStream(accept: string | undefined): EventStreamRange | undefined {
  const ranges = rangesOf(accept);
  const [json] = JSON_RANGES.flatMap((name) => ranges.find((range) => range.name === name) ?? []);
  const stream = ranges.find(({ name, weight }) => name === EVENT_STREAM && weight > 0);
  if (stream === undefined) return undefined;
  const isBehind =
    json !== undefined && (json.name === JSON_RANGES[0] ? json.weight >= stream.weight : json.weight > stream.weight);
  return isBehind ? undefined : { aiVersion: aiVersionOf(stream.parameters) };
}

interface MediaRange {
  readonly name: string;
  readonly weight: number;
  readonly parameters: readonly string[];
}

function rangesOf(accept: string | undefined): MediaRange[] {
  return elementsOf(accept).map((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const [weight = '1'] = parameters.flatMap((parameter) => WEIGHT.exec(parameter)?.[1] ?? []);
    return { name, weight: Number(weight), parameters };
  });
}

function aiVersionOf(parameters: readonly string[]): number | undefined {
  for (const parameter of parameters) {
    const [match, quoted, plain = ''] = AI_VERSION.exec(parameter) ?? [];
    if (match === undefined) continue;
    const text = quoted ?? plain;
    if (/^\d{1,4}$/.test(text) && Number(text) >= OLDEST_AI_VERSION) return Number(text);
    const rule = `ai must be a major version of the npm package \`ai\`, ${OLDEST_AI_VERSION} or later.`;
    throw faultAt('Accept', 'ai', rule);
  }
  return undefined;
}

const ELEMENT = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;

/** The elements of a list in a header (RFC 9110 §5.6.1): a comma separates them unless it is quoted. */
export function elementsOf(header: string | undefined): readonly string[] {
  return header?.match(ELEMENT) ?? [];
}
