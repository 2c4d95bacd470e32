import { readFile, writeFile } from 'node:fs/promises';

const DOCUMENT = new URL('../../docs/conformance.md', import.meta.url);
const [BEGIN, END] = ['<!-- field -->\n', '<!-- /field -->'];
const HEAD = ['Client', 'Version', 'Used as', 'MCP', 'Connection', 'Agent', '`self`', 'Also shown'];

/** The cells of one client, the package first and its version second. */
export type FieldRow = readonly string[];

/** The rows of the table in `docs/conformance.md`, without its head. */
export async function readRows(): Promise<FieldRow[]> {
  const [, rest = ''] = (await readFile(DOCUMENT, 'utf8')).split(BEGIN);
  const lines = rest.slice(0, rest.indexOf(END)).split('\n');
  const rows = lines.filter((line) => line.startsWith('|')).map((line) => line.split('|').slice(1, -1));
  return rows.slice(2).map((cells) => cells.map((cell) => cell.trim()));
}

/** Writes the table, as Prettier formats it. */
export async function writeRows(rows: readonly FieldRow[]): Promise<void> {
  const all = [HEAD, ...rows];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: FieldRow): string => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const [head, ...body] = all.map(lineOf);
  const table = [head, lineOf(widths.map((width) => '-'.repeat(width))), ...body].join('\n');
  const [before = '', rest = ''] = (await readFile(DOCUMENT, 'utf8')).split(BEGIN);
  await writeFile(DOCUMENT, `${before}${BEGIN}\n${table}\n\n${rest.slice(rest.indexOf(END))}`);
}
