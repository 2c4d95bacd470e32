import { isUuid } from '../ids.js';
import type { ListField } from './list-spec.js';

/** A value to compare a field with; dates are ISO 8601 text with an offset. */
export type FieldValue = string | number | boolean;

/** The two accepted forms of ISO 8601, within PostgreSQL's ranges: no year 0, offsets up to 14 hours. */
const DAY = /^(?!0000)\d{4}-\d{2}-\d{2}$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;

/**
 * The value in the form to compare with the field, or undefined if it is invalid. PostgreSQL accepts every returned
 * value. A date without a time is midnight UTC. Dates stay text, so that microseconds are kept.
 */
export function readFieldValue(field: ListField, value: unknown): FieldValue | undefined {
  switch (field.type) {
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
    case 'integer':
      return Number.isSafeInteger(value) ? Number(value) : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    default:
      return typeof value === 'string' ? readText(field, value) : undefined;
  }
}

/** The values that the field accepts, as the end of the sentence "The value must be …". */
export function describeValue(field: ListField): string {
  switch (field.type) {
    case 'string':
      return 'a string without NUL characters';
    case 'number':
      return 'a number';
    case 'integer':
      return 'a whole number';
    case 'boolean':
      return 'true or false';
    case 'date':
      return 'an ISO 8601 date, or date and time with an offset';
    case 'uuid':
      return 'a UUID';
    case 'enum':
      return `one of ${field.values.join(', ')}`;
  }
}

function readText(field: ListField, text: string): string | undefined {
  switch (field.type) {
    case 'date':
      return readDate(text);
    case 'uuid':
      return isUuid(text) ? text : undefined;
    case 'enum':
      return field.values.includes(text) ? text : undefined;
    default:
      // PostgreSQL text cannot contain NUL characters, and a parameter that contains one fails.
      return text.includes('\0') ? undefined : text;
  }
}

function readDate(text: string): string | undefined {
  const [day = '', time = '00:00:00Z', ...rest] = text.split('T');
  return rest.length === 0 && isDay(day) && TIME.test(time) ? `${day}T${time}` : undefined;
}

function isDay(day: string): boolean {
  if (!DAY.test(day)) return false;
  const midnight = new Date(`${day}T00:00:00Z`);
  // Date parses 30 February as 2 March.
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
