export type Metadata = Record<string, unknown>;

/**
 * Merges message metadata as `ai` does: nested objects are merged, arrays and everything else are replaced, undefined
 * changes nothing, and keys that could reach a prototype are left out. Neither argument is changed.
 */
export function mergeMetadata(base: Metadata, overrides: Metadata): Metadata {
  const merged = { ...base };
  for (const [key, value] of Object.entries(overrides)) {
    if (value === undefined || key === '__proto__' || key === 'constructor' || key === 'prototype') continue;
    const before = merged[key];
    merged[key] = isMetadata(before) && isMetadata(value) ? mergeMetadata(before, value) : value;
  }
  return merged;
}

/** True for a JSON object. */
export function isMetadata(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
