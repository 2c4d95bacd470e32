import { describe, expect, it } from '@jest/globals';
import { highlight } from './highlight.js';

const { signal } = new AbortController();
const textOf = (spans: Awaited<ReturnType<typeof highlight>>): string | undefined =>
  spans?.map(({ text }) => text).join('');
const classOf = (spans: Awaited<ReturnType<typeof highlight>>, word: string): string | undefined =>
  spans?.find(({ text }) => text.includes(word))?.className;

describe('colours of code', () => {
  it('change nothing of the text', async () => {
    const code = 'const a = `<b>${1}</b>`;\r\n\n\n/* over\n   lines */ run("x")\t// \u202Eend\n';
    const spans = await highlight(code, 'ts', signal);
    expect(textOf(spans)).toBe(code);
    expect(classOf(spans, 'const')).toBe('text-code-keyword');
    expect(classOf(spans, 'lines */')).toBe('text-muted-foreground');
    expect(classOf(spans, 'run')).toBe('text-code-function');
  });

  it.each([
    ['typescript', 'return 1;', 'return'],
    ['tsx', 'const a = <b>x</b>;', 'const'],
    ['javascript', 'return 1;', 'return'],
    ['json', '{ "a": true }', 'true'],
    ['bash', 'if true; then echo "a"; fi', 'if'],
    ['python', 'def f(): return 1', 'return'],
    ['sql', 'SELECT 1 FROM a', 'SELECT'],
    ['yaml', 'a: true', 'true'],
    ['html', '<p class="a">b</p>', '"a"'],
    ['css', 'p { color: red }', 'red'],
    ['go', 'func main() { return }', 'func'],
    ['rust', 'fn main() { return }', 'fn'],
    ['java', 'class A { int b = 1; }', 'class'],
    ['diff', '-old\n+new', 'old'],
  ])('are known for %s', async (language, code, word) => {
    const spans = await highlight(code, language, signal);
    expect(textOf(spans)).toBe(code);
    expect(classOf(spans, word)).toBeDefined();
  });

  it('are not looked for in other languages and in long code', async () => {
    expect(await highlight('a', 'constructor', signal)).toBeUndefined();
    expect(await highlight('a', 'mermaid', signal)).toBeUndefined();
    expect(await highlight('1 '.repeat(25_001), 'json', signal)).toBeUndefined();
  });

  it('are not looked for in a long line', async () => {
    const code = `"${'a'.repeat(600)}"\n1`;
    const spans = await highlight(code, 'json', signal);
    expect(textOf(spans)).toBe(code);
    expect(classOf(spans, 'aaa')).toBeUndefined();
    expect(classOf(spans, '1')).toBe('text-code-constant');
  });

  it('are given up when the code changes', async () => {
    expect(await highlight('const a = 1;\n'.repeat(2_000), 'ts', AbortSignal.abort())).toBeUndefined();
  });
});
