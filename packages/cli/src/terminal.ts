/** Prints a line. */
export function say(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** Prints rows as columns, with their names above. */
export function table(
  names: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
): void {
  const lines = [names, ...rows].map((row) => row.map((cell) => printable(String(cell ?? ''))));
  const widths = names.map((_name, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines)
    say(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

/**
 * Text of others without the characters that could steer the terminal or reorder what it shows: control and
 * bidirectional formatting characters. Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, '�');
}

/** A point in time in the form of ISO 8601, without fractions of a second. */
export function time(iso: string | null | undefined): string {
  return iso === null || iso === undefined ? '' : `${iso.slice(0, 19)}Z`;
}
