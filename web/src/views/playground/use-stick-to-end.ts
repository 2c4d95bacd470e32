import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

/** The end counts as reached within this distance, in pixels. */
const NEAR = 120;

/** Values of `overflow-y` with which an element scrolls. */
const SCROLLING: ReadonlySet<string> = new Set(['auto', 'scroll']);

/** Marks an element that scrolls a chat where the page is wide enough. Without one, the page does. */
export const CHAT_PANE = 'data-chat-pane';

/**
 * Keeps the end of the page, or of the pane that the chat is in, in sight while `content` grows, unless somebody has
 * scrolled up.
 */
export function useStickToEnd(
  content: unknown,
  chat: RefObject<HTMLElement | null>,
): { readonly isAtEnd: boolean; readonly goToEnd: () => void } {
  const [isAtEnd, setIsAtEnd] = useState(true);
  const sticks = useRef(true);
  const scroll = useCallback(() => {
    const scroller = scrollerOf(chat.current);
    scroller.scrollTo({ top: scroller.scrollHeight });
  }, [chat]);
  const goToEnd = useCallback(() => {
    sticks.current = true;
    scroll();
  }, [scroll]);
  useEffect(() => {
    const scroller = scrollerOf(chat.current);
    // Under the form of a narrow page, the chat comes into sight only if the page is there already.
    if (paneOf(chat.current) === null || scroller !== document.documentElement) return;
    sticks.current = isNearEnd(scroller);
    setIsAtEnd(sticks.current);
  }, [chat]);
  useEffect(() => {
    let lastTop = scrollerOf(chat.current).scrollTop;
    const onScroll = ({ target }: Event): void => {
      const scroller = scrollerOf(chat.current);
      // The scrolling of the page is reported to the document.
      if ((target === document ? document.documentElement : target) !== scroller) return;
      // The page can have grown since it was scrolled to its end. Only going up leaves the end.
      sticks.current = isNearEnd(scroller) || (sticks.current && scroller.scrollTop >= lastTop);
      lastTop = scroller.scrollTop;
      setIsAtEnd(sticks.current);
    };
    // The scrolling of an element does not bubble. Which one scrolls changes with the width of the page.
    document.addEventListener('scroll', onScroll, { capture: true, passive: true });
    return () => document.removeEventListener('scroll', onScroll, { capture: true });
  }, [chat]);
  useEffect(() => {
    // Pictures have no height until they are loaded. The event does not bubble, nor does it reach the window.
    const onLoad = (): void => void (sticks.current && goToEnd());
    document.addEventListener('load', onLoad, { capture: true });
    return () => document.removeEventListener('load', onLoad, { capture: true });
  }, [goToEnd]);
  useEffect(() => {
    if (sticks.current) scroll();
  }, [content, scroll]);
  return { isAtEnd, goToEnd };
}

function paneOf(chat: HTMLElement | null): Element | null {
  return chat?.closest(`[${CHAT_PANE}]`) ?? null;
}

/** The pane if it scrolls, or else the page. */
function scrollerOf(chat: HTMLElement | null): Element {
  const pane = paneOf(chat);
  return pane !== null && SCROLLING.has(getComputedStyle(pane).overflowY) ? pane : document.documentElement;
}

function isNearEnd({ scrollHeight, scrollTop, clientHeight }: Element): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR;
}
