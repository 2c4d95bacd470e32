const WIDTH = 960;
const MARGIN = 24;
const ROW = 24;
const BAR = 14;
const HEAD = 44;
const LABELS = 210;
const VALUES = 70;
/** A bar that is longer than the next by more than this is cut off, so that the others can be told apart. */
const MOST_OF_NEXT = 2;

// The colours of the pages in `scripts/docs-site/style.css`. The picture has a ground of its own, so that its text can
// be read wherever it is shown.
const STYLE = `
  svg { font: 13px system-ui, sans-serif; }
  .ground { fill: #f4f6f8; } .text { fill: #1c2024; } .quiet { fill: #5a626b; } .bar { fill: #93a1af; }
  .ours { fill: #0b57b0; } .title { font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #1d2125; } .text { fill: #e6e8ea; } .quiet { fill: #a2abb5; } .bar { fill: #6b7681; }
    .ours { fill: #7db5f5; }
  }`;

/**
 * Draws bar charts in two columns, as an SVG that loads nothing.
 * @param {{ title: string, charts: { title: string, bars: { label: string, value: number, isOurs?: boolean }[] }[] }}
 *   picture a chart without bars is left out; values are not negative
 * @returns {string}
 */
export function barCharts({ title, charts }) {
  const drawn = charts.filter(({ bars }) => bars.length > 0);
  const column = (WIDTH - 3 * MARGIN) / 2;
  const parts = [];
  let top = MARGIN;
  for (let i = 0; i < drawn.length; i += 2) {
    const row = drawn.slice(i, i + 2);
    row.forEach((chart, j) => parts.push(chartAt(chart, MARGIN + j * (column + MARGIN), top, column)));
    top += HEAD + Math.max(...row.map(({ bars }) => bars.length)) * ROW + MARGIN;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" role="img" aria-labelledby="title">`,
    `<title id="title">${escaped(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${top}" rx="8"/>`,
    ...parts.flat(),
    '</svg>\n',
  ].join('\n');
}

function chartAt({ title, bars }, left, top, width) {
  const [longest, next = longest] = bars.map(({ value }) => value).toSorted((a, b) => b - a);
  const most = longest > next * MOST_OF_NEXT && next > 0 ? next * MOST_OF_NEXT : longest;
  const room = width - LABELS - VALUES;
  const rows = bars.flatMap(({ label, value, isOurs = false }, i) => {
    const middle = top + HEAD + i * ROW;
    const length = most === 0 ? 0 : (Math.min(value, most) / most) * room;
    const shown = `${value > most ? '→ ' : ''}${numberOf(value)}`;
    return [
      text(isOurs ? 'text title' : 'text', left + LABELS - 8, middle, label, 'end'),
      `<rect class="${isOurs ? 'ours' : 'bar'}" x="${left + LABELS}" y="${middle - BAR + 2}" ` +
        `width="${length.toFixed(1)}" height="${BAR}" rx="2"/>`,
      text('quiet', left + LABELS + length + 6, middle, shown),
    ];
  });
  return [text('text title', left, top + 14, title), ...rows];
}

function text(kind, x, y, content, anchor = 'start') {
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

/** Three digits, more for large numbers. */
function numberOf(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 10 ? 1 : 2).replace(/\.0+$/, '');
}

function escaped(content) {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
