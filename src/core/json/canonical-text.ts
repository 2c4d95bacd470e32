import canonicalize from 'canonicalize';

/**
 * The canonical JSON text of a value (RFC 8785): equal for equal values, whatever the order of their keys. Text with
 * lone surrogates has no canonical form (section 3.2.2.2), and keeps its order.
 */
export function canonicalText(value: unknown): string {
  try {
    return String(canonicalize(value));
  } catch {
    return JSON.stringify(value);
  }
}
