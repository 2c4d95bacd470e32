/** Longer than any that is written to be read. The time to find its links grows with the square of its length. */
const MAX_LENGTH = 10_000;

const BLANK = /^[ \t]*$/;
const FENCE = /^ {0,3}(?<marks>`{3,}|~{3,})/;
/** An item with a mark always begins a paragraph, one with a number only sometimes. */
const ITEM = /^ {0,3}[-*+][ \t]+\S/;
const ROW = /^ {0,3}\|/;
/** A cell of the line below the head of a table. */
const DASHES = /^[ \t]*:?-+:?[ \t]*$/;
const LINE_END = /\r\n?|\n/;
const CELL_END = /(?<!\\)\|/;

/**
 * Whether a paragraph of a Markdown block, or a cell of a table, is too long to be read as Markdown. What is less clear
 * than a blank line, an item or a row ends none: a text that is made to stop the page must not seem shorter than it is.
 */
export function hasLongParagraph(markdown: string): boolean {
  if (markdown.length <= MAX_LENGTH) return false;
  const lines = withoutFirstFence(markdown.split(LINE_END));
  let length = 0;
  let isTable = false;
  return lines.some((line, index) => {
    if (BLANK.test(line)) {
      length = 0;
      isTable = false;
      return false;
    }
    isTable = ROW.test(line) && (isTable || (length === 0 && isHead(line, lines[index + 1])));
    if (isTable) return line.split(CELL_END).some((cell) => cell.length > MAX_LENGTH);
    length = ITEM.test(line) ? line.length : length + line.length + 1;
    return length > MAX_LENGTH;
  });
}

/** The lines after the code that the block begins with, which has no paragraphs. As a rule, it is all of it. */
function withoutFirstFence(lines: readonly string[]): readonly string[] {
  const marks = FENCE.exec(lines[0] ?? '')?.groups?.['marks'];
  if (marks === undefined || (marks.startsWith('`') && lines[0]?.trim().replace(/^`+/, '').includes('`'))) return lines;
  const end = lines.findIndex((line, index) => {
    const mark = line.trim();
    return index > 0 && mark.startsWith(marks) && mark === marks[0]?.repeat(mark.length);
  });
  return end === -1 ? [] : lines.slice(end + 1);
}

/**
 * Whether a table begins with these lines: the second one has as many cells, of dashes. A head with a backslash counts
 * as none, because it is not clear which of its lines end a cell.
 */
function isHead(line: string, below = ''): boolean {
  if (line.includes('\\') || !ROW.test(below)) return false;
  const cells = cellsOf(below);
  return cells.every((cell) => DASHES.test(cell)) && cells.length === cellsOf(line).length;
}

function cellsOf(row: string): string[] {
  return row.trim().replace(/^\|/, '').replace(/\|$/, '').split(CELL_END);
}
