import katex, { type KatexOptions } from 'katex';
import { createElement, type ReactNode } from 'react';
import { cn } from './class-names.js';
import { inAlphabet } from './math-letters.js';

type Attributes = Readonly<Record<string, string>>;

/** What KaTeX makes of a formula: an element, a text or a space. Its types do not have it. */
interface MathTree {
  readonly type?: string;
  readonly attributes?: Attributes;
  readonly children?: readonly MathTree[];
  readonly text?: string;
  /** Of a space, in em. */
  readonly width?: number;
  /** The character that is such a space, if there is one. */
  readonly character?: string | null;
}

const { __renderToDomTree: treeOf } = katex as unknown as {
  readonly __renderToDomTree: (tex: string, options: KatexOptions) => MathTree;
};

/** Longer, deeper and larger formulas stay text: laying them out would slow the page down. */
const MAX_LENGTH = 2_000;
const MAX_DEPTH = 60;
const MAX_NODES = 5_000;
/** In em. */
const MAX_SIZE = 20;

/** With definitions, a formula of a few characters could grow to millions. */
const DEFINITION = /\\(?:[egx]?def|let|futurelet|global|long|(?:new|renew|provide)command)(?![a-z])/i;

const OPTIONS: KatexOptions = {
  output: 'mathml',
  throwOnError: true,
  strict: false,
  maxSize: MAX_SIZE,
  maxExpand: 500,
  // No links, pictures or styles: a formula with them stays text.
  trust: () => {
    throw new Error('not trusted');
  },
};

const ELEMENTS: ReadonlySet<string> = new Set(
  (
    'math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover ' +
    'mtable mtr mtd mstyle mphantom'
  ).split(' '),
);

/**
 * Nothing that moves content over its neighbours (offsets, paddings, negative sizes), so that a formula cannot imitate
 * what is around it, and no colours, which one of the themes could hide.
 */
const ATTRIBUTES: ReadonlySet<string> = new Set(
  (
    'display displaystyle scriptlevel mathvariant stretchy fence separator largeop accent accentunder ' +
    'linethickness minsize maxsize'
  ).split(' '),
);

/**
 * A formula as MathML, made of React elements: the policy of the page turns no text into markup.
 * @param tex not yet trusted, by a model or a tool
 * @throws Error if it is no formula, or one that is not shown
 */
export function mathElements(tex: string, isBlock: boolean): ReactNode {
  if (tex.length > MAX_LENGTH || DEFINITION.test(tex)) throw new Error('This formula is not shown.');
  return new Elements().of(treeOf(tex, { ...OPTIONS, displayMode: isBlock }), 0);
}

class Elements {
  private count = 0;

  /** @param parent the attributes that count for what is in it: of a table, of letters */
  of(tree: MathTree, depth: number, parent: Attributes = {}, column = 0): ReactNode {
    const { type, attributes = {}, children = [], text, width, character } = tree;
    this.count += 1;
    if (depth > MAX_DEPTH || this.count > MAX_NODES) throw new Error('This formula is too large.');
    if (text !== undefined) return inAlphabet(text, parent['mathvariant'] ?? '');
    if (width !== undefined) return character ?? spaceOf(width);
    // KaTeX repeats the text of the formula.
    if (type === 'annotation') return null;
    if (type === 'mspace') return spaceOf(Number.parseFloat(attributes['width'] ?? ''));
    const heir = type === 'mtr' ? parent : attributes;
    const inner = children.map((child, index) => this.of(child, depth + 1, heir, index));
    // The element around all is one of HTML.
    if (type === undefined || type === 'semantics') return inner.find((child) => child !== null);
    const className = type === 'mtd' ? cellClass(parent, column) : undefined;
    return createElement(ELEMENTS.has(type) ? type : 'mrow', { ...shown(attributes), className }, ...inner);
  }
}

/** Browsers ignore how MathML aligns columns, and the space between them. */
function cellClass({ columnalign = '', columnspacing = '' }: Attributes, column: number): string {
  const alignment = columnalign.split(' ')[column];
  const gaps = columnspacing.split(' ');
  return cn(
    'px-[0.4em] py-[0.15em]',
    alignment === 'left' && 'text-left',
    alignment === 'right' && 'text-right',
    column > 0 && gaps[column - 1] === '0em' && 'pl-0',
    gaps[column] === '0em' && 'pr-0',
  );
}

function shown(attributes: Attributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).filter(([name, value]) => ATTRIBUTES.has(name) && !value.startsWith('-')),
  );
}

function spaceOf(width: number): ReactNode {
  return createElement('mspace', { width: `${Math.min(Math.max(width || 0, 0), MAX_SIZE)}em` });
}
