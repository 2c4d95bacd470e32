import { describe, expect, it } from '@jest/globals';
import { hasLongParagraph } from './long-paragraph.js';

const LONG = '[{"a": "see a word" '.repeat(1_000);
const LINES = 'see [a word\n'.repeat(2_000);
const ROWS = '| a | b |\n'.repeat(2_000);

describe('a paragraph that is too long for Markdown', () => {
  it.each([
    ['one line', LONG],
    ['many lines', LINES],
    ['between others', `Before.\n\n${LONG}\n\nAfter.`],
    ['in an item', `- one\n- ${LONG}`],
    ['in a cell', `| a | b |\n|---|---|\n| c | ${LONG} |`],
    ['with an escaped line between cells', `| a | b |\n|---|---|\n| c | ${'see [a \\| word '.repeat(1_000)} |`],
    ['below a table', `| a | b |\n|---|---|\n${LINES}`],
    ['in a quote below a table', `| a | b |\n|---|---|\n> quote\n${ROWS}`],
    ['of rows below an item, where no table begins', `- item\n| a | b |\n|---|---|\n${ROWS}`],
    ['of rows below a line with other columns', `| a | b |\n|---|---|---|\n${ROWS}`],
    ['of rows below a cell without dashes', `| a | b |\n|:|-|\n${ROWS}`],
    ['of rows below a head with a backslash', `| a \\\\| b |\n|---|\n${ROWS}`],
    ['of rows below nearly only dashes', `| a |\n|${'-'.repeat(200_000)}x\n${ROWS}`],
    ['after code whose lines end in the old way', `~~~\r~~~\r${LONG}`],
    ['after code', `\`\`\`\ncode\n\`\`\`\n${LONG}`],
    ['after what only looks like code', `\`\`\` \`\n${LONG}`],
    ['of items that are too far in', `see\n${'    - [a word\n'.repeat(2_000)}`],
  ])('is found: %s', (_name, markdown) => {
    expect(hasLongParagraph(markdown)).toBe(true);
  });

  it.each([
    ['short', 'A [link](https://example.com).'],
    ['many paragraphs', 'A sentence.\n\n'.repeat(2_000)],
    ['many items', '- An item.\n'.repeat(2_000)],
    ['a long table', `| a | b |\n|:--|--:|\n${ROWS}`],
    ['code', `\`\`\`ts\n${LONG}\n${LINES}\n\`\`\``],
    ['code that is being written', `~~~\n${LONG}\n${LINES}`],
  ])('is none: %s', (_name, markdown) => {
    expect(hasLongParagraph(markdown)).toBe(false);
  });
});
