type Row = readonly string[];

/** A Markdown table with aligned columns, as the formatter wants it. */
export function markdownTable(head: Row, rows: readonly Row[]): string {
  const widths = head.map((_cell, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: Row): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [head, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('\n');
}
