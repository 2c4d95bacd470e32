import { describe, expect, it } from '@jest/globals';
import { renderToStaticMarkup } from 'react-dom/server';
import { mathElements } from './math-elements.js';

const markup = (tex: string, isBlock = false): string => renderToStaticMarkup(mathElements(tex, isBlock));

describe('formulas', () => {
  it('become MathML', () => {
    expect(markup('\\frac{a}{2}')).toBe('<math><mrow><mfrac><mi>a</mi><mn>2</mn></mfrac></mrow></math>');
    expect(markup('x', true)).toBe('<math display="block"><mrow><mi>x</mi></mrow></math>');
    expect(markup('\\mathbb{R}\\mathbf{b1}\\mathcal{L}')).toMatch(/>ℝ<.*>𝐛<.*>𝟏<.*>ℒ</u);
  });

  it('align the columns of their tables', () => {
    const aligned = markup('\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}');
    expect(aligned.match(/<mtd class="[^"]*text-(?:left|right)[^"]*"/g)).toHaveLength(4);
    expect(aligned).toMatch(/^<math><mtable><mtr><mtd class="[^"]*text-right pr-0">/);
  });

  it.each([
    '\\href{https://evil.test}{x}',
    '\\href{javascript:window.ran=1}{x}',
    '\\url{https://evil.test}',
    '\\includegraphics{https://evil.test/a.png}',
    '\\htmlStyle{background:url(https://evil.test)}{x}',
    '\\htmlClass{fixed inset-0}{x}',
    '\\htmlId{root}{x}',
    '\\htmlData{a=b}{x}',
    '\\def\\a{xx}\\a',
    '\\newcommand{\\a}{x}\\a',
    '\\let\\a=b',
    '\\frac{a}',
    '\\sqrt{'.repeat(200) + '}'.repeat(200),
    'x'.repeat(2_001),
  ])('are refused with what could act, grow or not be shown: %s', (tex) => {
    expect(() => markup(tex)).toThrow();
  });

  it('keep nothing that moves, hides or colours', () => {
    const html = markup(
      '\\color{red}x\\colorbox{blue}{y}\\raisebox{9em}{z}\\kern-99em\\kern99em\\smash{a}\\llap{b}\\rule{9em}{9em}\\text{<b onclick=1>}',
    );
    const attributes = [...html.matchAll(/ ([\w-]+)="([^"]*)"/g)].map(([, name, value]) => `${name}=${value}`);
    expect(new Set(attributes)).toEqual(
      new Set(['scriptlevel=0', 'displaystyle=false', 'width=0em', 'width=20em', 'width=9em']),
    );
    expect(html).toContain('&lt;');
    expect(html).not.toContain('<b');
  });
});
