import { type RefObject, useEffect, useRef } from 'react';

/**
 * For a row of tabs or links that scrolls sideways where it is too long: brings the selected one into view.
 * @param selected changes when another one is selected
 */
export function useShownInRow<Row extends HTMLElement>(selected: string | undefined): RefObject<Row | null> {
  const row = useRef<Row>(null);
  useEffect(() => {
    const around = row.current;
    const chosen = around?.querySelector('[aria-selected=true], [aria-current=page]');
    if (!around || !chosen) return;
    const [outer, inner] = [around.getBoundingClientRect(), chosen.getBoundingClientRect()];
    if (inner.left >= outer.left && inner.right <= outer.right) return;
    // Only the row: `scrollIntoView` would also scroll the page.
    around.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
  }, [selected]);
  return row;
}
