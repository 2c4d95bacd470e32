import { isRecord } from '../is-record.js';

/** Parses a JSON text; undefined if it is not a JSON object. */
export function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
