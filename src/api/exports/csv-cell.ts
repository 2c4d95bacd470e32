/**
 * A spreadsheet evaluates a cell that starts with one of these, in full width too, and also after spaces, which it can
 * cut off (OWASP, "CSV Injection").
 */
const FORMULA_START = /^[\s\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;
/** A semicolon and a tab separate cells too, depending on the spreadsheet's language. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

/**
 * A value as a cell of a CSV file (RFC 4180): null is empty, objects are JSON. Text that a spreadsheet would evaluate
 * gets a leading apostrophe.
 */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = FORMULA_START.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line of a CSV file, with its end. */
export function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvCell).join(',')}\r\n`;
}
