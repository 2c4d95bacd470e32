/** True if this is a JSON object. Arrays and null are not. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** True if this has properties. Arrays and errors do, null does not. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Parses a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a JSON text; undefined if it is not a JSON object. */
export function parseRecord(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}
