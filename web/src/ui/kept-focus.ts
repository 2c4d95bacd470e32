import { useEffect } from 'react';

/** What can stand in for an element that is gone: the part of the view that it was in. */
const PARTS = 'section, form, [role=dialog], [role=alertdialog], main';

/**
 * Keeps the focus in its part of the view when the element that has it is taken away or disabled, such as the row that
 * was deleted, the link of a view that was left, or the button of a form that was saved. The browser would give it to
 * the page, whose reading begins at the top.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let around: readonly HTMLElement[] = [];
    const onFocus = ({ target }: FocusEvent): void => {
      around = target instanceof Element ? partsAround(target) : [];
    };
    const observer = new MutationObserver(() => {
      const { activeElement: active } = document;
      // A browser lets go of what is disabled only when it paints.
      if (around.length === 0 || (active !== document.body && !active?.matches(':disabled'))) return;
      const part = around.find((each) => each.isConnected);
      around = [];
      if (part) focusPart(part);
      else focusMain();
    });
    addEventListener('focusin', onFocus);
    // Who leaves an element by a click on nothing has not lost it.
    const onPointer = (): void => void (around = []);
    addEventListener('pointerdown', onPointer);
    observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
    return () => {
      observer.disconnect();
      removeEventListener('focusin', onFocus);
      removeEventListener('pointerdown', onPointer);
    };
  }, []);
}

/** Gives the focus to the view, of which the keyboard then reaches the first control. */
export function focusMain(): void {
  const main = document.getElementById('main');
  if (main) focusPart(main);
}

/** Gives the focus to a part of the view that is no control. */
function focusPart(part: HTMLElement): void {
  if (!part.hasAttribute('tabindex')) part.tabIndex = -1;
  part.focus({ preventScroll: true });
}

/** The inner ones first. */
function partsAround(element: Element): readonly HTMLElement[] {
  const parts: HTMLElement[] = [];
  for (let part = element.closest<HTMLElement>(PARTS); part; part = part.parentElement?.closest(PARTS) ?? null) {
    parts.push(part);
  }
  return parts;
}
