import type { Page } from 'playwright-core';

/**
 * Waits in the page until a change is shown. Not with the promises of the transitions: those of what is in a closed
 * `details` may never be fulfilled.
 */
const CHANGED = `new Promise((resolve) => {
  const isUnfinished = (each) => each instanceof CSSTransition && each.playState !== 'finished';
  const isChanging = () => document.getAnimations().some(isUnfinished);
  const look = () => (isChanging() ? requestAnimationFrame(look) : resolve());
  requestAnimationFrame(look);
})`;

/** Shows a page in this theme, as one of the system. A color that is still changing has another contrast. */
export async function showColorScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(CHANGED);
}
