const ELEMENT = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;

/** The elements of a list in a header (RFC 9110 §5.6.1): a comma separates them unless it is quoted. */
export function elementsOf(header: string | undefined): readonly string[] {
  return header?.match(ELEMENT) ?? [];
}
