import { isRecord } from '../is-record.js';
import { rule } from './rule.js';

const MAX_PAIRS = 16;
const MAX_VALUE_LENGTH = 512;
/** A key of metadata. */
export const METADATA_KEY = /^[A-Za-z0-9_.-]{1,64}$/;

/** A caller's own pairs of strings. */
export function IsMetadata(): PropertyDecorator {
  return rule(
    'isMetadata',
    {
      type: 'object',
      maxProperties: MAX_PAIRS,
      description: 'Keys of 1 to 64 of A-Z, a-z, 0-9, _, . and -.',
      additionalProperties: { type: 'string', maxLength: MAX_VALUE_LENGTH },
    },
    isMetadata,
    `must be an object of at most ${MAX_PAIRS} pairs: keys of 1 to 64 of A-Z, a-z, 0-9, _, . and -, and strings of ` +
      `at most ${MAX_VALUE_LENGTH} characters`,
  );
}

function isMetadata(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const pairs = Object.entries(value);
  return (
    pairs.length <= MAX_PAIRS &&
    pairs.every(([key, text]) => METADATA_KEY.test(key) && typeof text === 'string' && text.length <= MAX_VALUE_LENGTH)
  );
}
