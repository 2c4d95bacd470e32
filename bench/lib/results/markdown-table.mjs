/**
 * Replaces what is between the comments `<!-- <name> -->` and `<!-- end of <name> -->` of a page.
 * @throws if the page has no such comments
 */
export function replaceBetween(page, name, content) {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The page has no ${begin} followed by ${end}.`);
  return `${page.slice(0, from + begin.length)}\n\n${content}\n\n${page.slice(to)}`;
}

/** A table in Markdown, without the columns that are empty. @param {string[][]} rows the first has the heads */
export function markdownTable([heads, ...rows]) {
  const isUsed = (column) => rows.some((cells) => cells[column] !== '');
  const line = (cells) => `| ${cells.filter((_, column) => isUsed(column)).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Where and when a run measured, as the end of a sentence. */
export function whereAndWhen({ measured, machine, load }) {
  const loads = load === undefined ? '' : `, load ${load.map((value) => value.toFixed(1)).join(' to ')}`;
  return `${measured}, ${machine}${loads}.`;
}
