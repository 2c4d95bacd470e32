type Row = Readonly<Record<string, unknown>>;

/** What a JSON value has to say as a table. */
export interface JsonTable {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

/** With more columns, a table cannot be read. */
const MAX_COLUMNS = 12;

/**
 * The table that a JSON value is: a list of at least two objects of plain values, or an object with nothing but one.
 * Undefined for everything else.
 */
export function tableOf(value: unknown): JsonTable | undefined {
  const rows = listOf(value);
  if (rows === undefined || rows.length < 2 || !rows.every(isRow)) return undefined;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return columns.length > 0 && columns.length <= MAX_COLUMNS ? { columns, rows } : undefined;
}

function listOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const [only, ...others] = Object.values(value);
  return others.length === 0 && Array.isArray(only) ? only : undefined;
}

function isRow(value: unknown): value is Row {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((cell) => typeof cell !== 'object' || cell === null);
}

/** A number that JavaScript cannot hold exactly: more digits than it keeps, or too large. */
const LONG_NUMBER = /[[,:\s]-?(?:\d{16,}|[\d.]{17,}|[\d.]+[eE]\+?\d{3,})\s*[,\]}]/;

/** The object or list that a text is in JSON; undefined for other texts, and if a number is too long or too large. */
export function jsonOf(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text) || LONG_NUMBER.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
