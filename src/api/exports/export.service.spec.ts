import { describe, expect, it } from '@jest/globals';
import { csvCell, csvLine } from './export.service.js';

describe('csvCell', () => {
  it.each<[unknown, string]>([
    [null, ''],
    ['plain', 'plain'],
    [1.5, '1.5'],
    [-1, '-1'],
    [true, 'true'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    [{ a: [1] }, '"{""a"":[1]}"'],
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\tx', `"'\tx"`],
    [' =1+1', "' =1+1"],
    ['\uFEFF=1+1', "'\uFEFF=1+1"],
    ['a;=1+1', '"a;=1+1"'],
    ['a\t=1+1', '"a\t=1+1"'],
    ['\rx', '"\'\rx"'],
    ['\n=1+1', `"'\n=1+1"`],
    ['＝1+1', "'＝1+1"],
    ['=HYPERLINK("http://evil.example","x")', `"'=HYPERLINK(""http://evil.example"",""x"")"`],
    ['a=b', 'a=b'],
  ])('%j is %j', (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });

  it('makes lines that end with CR LF', () => {
    expect(csvLine(['a', null, 'b,c'])).toBe('a,,"b,c"\r\n');
  });
});
