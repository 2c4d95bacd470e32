import type { Page } from 'playwright-core';

/** What these functions use of the DOM, whose types tests do not have. */
interface PageElement {
  readonly ownerDocument: PageDocument;
  readonly parentElement: PageElement | null;
  readonly children: Iterable<PageElement>;
  readonly scrollWidth: number;
  readonly outerHTML: string;
  contains(other: PageElement): boolean;
  closest(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  checkVisibility(options: { visibilityProperty: boolean }): boolean;
  getBoundingClientRect(): { readonly left: number; readonly right: number; readonly width: number };
}
interface PageDocument {
  readonly body: PageElement;
  readonly defaultView: {
    readonly innerWidth: number;
    getComputedStyle(element: PageElement): { readonly overflowX: string };
  };
  createTreeWalker(root: PageElement, what: number): { nextNode(): PageText | null };
  createRange(): { selectNodeContents(node: PageText): void; getClientRects(): Iterable<{ readonly width: number }> };
}
interface PageText {
  readonly data: string;
  readonly parentElement: PageElement;
}

/**
 * A line of prose with more characters is hard to read: the eye does not find the next one (WCAG 2.2 §1.4.8 asks for
 * 80).
 */
const MAX_LINE = 110;

/**
 * What is wrong with the layout of a page at its present size: elements that make it scroll sideways, controls that no
 * scrolling brings into view, and lines of prose that are too long to read. Tables, code and charts may be as wide as
 * they like, because they scroll.
 */
export async function layoutFaults(page: Page): Promise<string[]> {
  const root = page.locator('html');
  const found = await Promise.all([
    root.evaluate(tooWide),
    root.evaluate(unreachableControls),
    root.evaluate(longLines, MAX_LINE),
  ]);
  return found.flat();
}

/** Runs in the page. */
function tooWide(root: PageElement): string[] {
  const view = root.ownerDocument.defaultView;
  if (root.scrollWidth <= view.innerWidth) return [];
  const sticksOut = (element: PageElement): boolean => element.getBoundingClientRect().right > view.innerWidth + 1;
  /** Something around it that does not stick out clips or scrolls it. */
  const isHeld = (element: PageElement): boolean => {
    for (let around = element.parentElement; around !== root && around !== null; around = around.parentElement)
      if (view.getComputedStyle(around).overflowX !== 'visible' && !sticksOut(around)) return true;
    return false;
  };
  const found = [...root.querySelectorAll('body *')].filter((element) => sticksOut(element) && !isHeld(element));
  return found
    .filter((element) => !found.some((other) => other !== element && element.contains(other)))
    .map((element) => `wider than the page: ${element.outerHTML.slice(0, 300)}`);
}

/** Runs in the page. */
function unreachableControls(root: PageElement): string[] {
  const view = root.ownerDocument.defaultView;
  const found: string[] = [];
  for (const control of root.querySelectorAll('a[href], button, input, select, textarea, summary')) {
    const { left, right, width } = control.getBoundingClientRect();
    // What only screen readers see is one pixel wide.
    if (!control.checkVisibility({ visibilityProperty: true }) || width <= 1) continue;
    let isReachable = left >= -1 && right <= view.innerWidth + 1;
    for (let around = control.parentElement; around !== null; around = around.parentElement) {
      const overflow = view.getComputedStyle(around).overflowX;
      const box = around.getBoundingClientRect();
      if (overflow === 'auto' || overflow === 'scroll') {
        isReachable ||= box.left >= -1 && box.right <= view.innerWidth + 1;
        break;
      }
      if (overflow !== 'visible' && (left >= box.right || right <= box.left)) isReachable = false;
    }
    if (!isReachable) found.push(`out of reach: ${control.outerHTML.slice(0, 300)}`);
  }
  return found;
}

/** Runs in the page. */
function longLines(root: PageElement, maxLine: number): string[] {
  const page = root.ownerDocument;
  const found: string[] = [];
  const SHOW_TEXT = 4;
  const texts = page.createTreeWalker(page.body, SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (text.parentElement.closest('table, pre, code, svg, select, textarea, script, style, .sr-only') !== null)
      continue;
    const range = page.createRange();
    range.selectNodeContents(text);
    const widths = [...range.getClientRects()].map(({ width }) => width);
    const total = widths.reduce((sum, width) => sum + width, 0);
    if (total === 0) continue;
    const line = Math.round((text.data.trim().length * Math.max(...widths)) / total);
    if (line > maxLine) found.push(`a line of ${line} characters: ${text.data.trim().slice(0, 120)}`);
  }
  return found;
}
