import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

/** The end counts as reached within this distance, in pixels. */
const NEAR = 120;

/** Values of `overflow-y` with which an element scrolls. */
const SCROLLING: ReadonlySet<string> = new Set(['auto', 'scroll']);

/** Marks an element that scrolls a chat where the page is wide enough. Without one, the page does. */
export const CHAT_PANE = 'data-chat-pane';

/**
 * Keeps the end of the page, or of the pane that the chat is in, in sight while the chat grows, unless somebody has
 * scrolled up.
 */
export function useStickToEnd(chat: RefObject<HTMLElement | null>): {
  readonly isAtEnd: boolean;
  readonly goToEnd: () => void;
} {
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
    const content = chat.current;
    if (content === null) return;
    // What is loaded later, such as pictures and the question for an approval, grows as messages do.
    const observer = new ResizeObserver(() => {
      if (sticks.current) scroll();
    });
    observer.observe(content);
    // What somebody opens is to be read from its beginning.
    const onClick = ({ target }: Event): void => {
      if (target instanceof Element && target.closest('summary') !== null) sticks.current = false;
    };
    const onToggle = (): void => {
      sticks.current ||= isNearEnd(scrollerOf(content));
      setIsAtEnd(sticks.current);
    };
    content.addEventListener('click', onClick);
    content.addEventListener('toggle', onToggle, { capture: true });
    return () => {
      observer.disconnect();
      content.removeEventListener('click', onClick);
      content.removeEventListener('toggle', onToggle, { capture: true });
    };
  }, [chat, scroll]);
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
