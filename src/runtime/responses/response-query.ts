import { fault } from './response-input.js';

/** The query of a response; other parameters of OpenAI's clients mean nothing here, and are ignored. */
interface ResponseQuery {
  readonly stream: boolean;
  /** The number of the last event that the reader has. */
  readonly startingAfter: number | undefined;
}

/** The query of the input items of a response. */
export interface InputItemsQuery {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The id of the item before the first one. */
  readonly after: string | undefined;
}

const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;

type RawQuery = Readonly<Record<string, unknown>>;

/** @throws DomainError `invalid_request` */
export function parseResponseQuery({ stream = 'false', starting_after: after }: RawQuery): ResponseQuery {
  if (stream !== 'true' && stream !== 'false') throw fault('invalid_request', 'stream', 'Must be true or false.');
  if (after === undefined) return { stream: stream === 'true', startingAfter: undefined };
  if (stream === 'false') throw fault('invalid_request', 'starting_after', 'Needs stream=true.');
  return { stream: true, startingAfter: wholeNumber(after, 'starting_after', Number.MAX_SAFE_INTEGER) };
}

/** @throws DomainError `invalid_request` */
export function parseInputItemsQuery({ limit, order = 'desc', after }: RawQuery): InputItemsQuery {
  if (order !== 'asc' && order !== 'desc') throw fault('invalid_request', 'order', 'Must be asc or desc.');
  if (after !== undefined && typeof after !== 'string') {
    throw fault('invalid_request', 'after', 'Must be the id of an item.');
  }
  const count = limit === undefined ? DEFAULT_ITEMS : wholeNumber(limit, 'limit', MAX_ITEMS);
  if (count === 0) throw fault('invalid_request', 'limit', `Must be a whole number from 1 to ${MAX_ITEMS}.`);
  return { limit: count, order, after };
}

function wholeNumber(text: unknown, path: string, max: number): number {
  const number = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (number <= max) return number;
  throw fault('invalid_request', path, `Must be a whole number of at most ${max}.`);
}
