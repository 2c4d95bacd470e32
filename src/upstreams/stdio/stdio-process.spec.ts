import { describe, expect, it } from '@jest/globals';
import { answeredIdOf, isCostly } from './stdio-process.js';

describe('a costly line', () => {
  it('has many values, many bytes or many levels', () => {
    expect(isCostly(Buffer.from(`[${'{},'.repeat(200_000)}{}]`))).toBe(true);
    expect(isCostly(Buffer.from(JSON.stringify('x'.repeat(9 * 2 ** 20))))).toBe(true);
    expect(isCostly(Buffer.from('['.repeat(2_000) + ']'.repeat(2_000)))).toBe(true);
    expect(isCostly(Buffer.from(JSON.stringify({ result: { text: '{},'.repeat(200_000) } })))).toBe(false);
  });

  it.each([
    ['{"jsonrpc":"2.0","id":7,"result":{}}', '7'],
    ['{"jsonrpc": "2.0", "id": "a-b", "error": {}}', '"a-b"'],
    ['{"id":7,"jsonrpc":"2.0","result":{}}', '7'],
    ['{"result":{"id":1},"jsonrpc":"2.0","id":9}', '9'],
    ['{"result":[{"id":1}],"id":"x","jsonrpc":"2.0"}', '"x"'],
  ])('finds the id where libraries write it: %s', (line, id) => expect(answeredIdOf(Buffer.from(line))).toBe(id));

  it.each([
    '{"jsonrpc":"2.0","method":"x","params":{"id":1}}',
    '{"jsonrpc":"2.0","id":1,"method":"x","params":[]}',
    '{"jsonrpc":"2.0","id":07,"result":{}}',
    '{"result":{},"jsonrpc":"2.0","id":"a\tb"}',
    '[]',
  ])('finds none in %s', (line) => expect(answeredIdOf(Buffer.from(line))).toBeUndefined());
});
