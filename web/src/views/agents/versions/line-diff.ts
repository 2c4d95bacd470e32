/** A line of two texts: in both, only in the first, or only in the second. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Texts whose middles have more pairs of lines than this are shown as replaced. */
const MAX_PAIRS = 4_000_000;

/** The lines of both texts in one order, as few removed and added as possible. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const old = linesOf(before);
  const current = linesOf(after);
  const length = Math.min(old.length, current.length);
  let start = 0;
  while (start < length && old[start] === current[start]) start++;
  let end = 0;
  while (end < length - start && old.at(-1 - end) === current.at(-1 - end)) end++;
  return [
    ...old.slice(0, start).map(same),
    ...middle(old.slice(start, old.length - end), current.slice(start, current.length - end)),
    ...old.slice(old.length - end).map(same),
  ];
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

const same = (text: string): DiffLine => ({ kind: 'same', text });
const removed = (text: string): DiffLine => ({ kind: 'removed', text });
const added = (text: string): DiffLine => ({ kind: 'added', text });

/** By the longest common subsequence. */
function middle(old: readonly string[], current: readonly string[]): readonly DiffLine[] {
  if (old.length * current.length > MAX_PAIRS) return [...old.map(removed), ...current.map(added)];
  const width = current.length + 1;
  // How many lines the rests that begin at a pair have in common.
  const common = new Uint32Array((old.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = current.length - 1; column >= 0; column--) {
      common[row * width + column] =
        old[row] === current[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length || column < current.length) {
    if (row < old.length && column < current.length && old[row] === current[column]) {
      lines.push(same(old[row] ?? ''));
      row++;
      column++;
    } else if (column >= current.length || (row < old.length && at(row + 1, column) >= at(row, column + 1))) {
      lines.push(removed(old[row] ?? ''));
      row++;
    } else {
      lines.push(added(current[column] ?? ''));
      column++;
    }
  }
  return lines;
}
