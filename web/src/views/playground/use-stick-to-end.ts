import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

/** The end counts as reached within this distance, in pixels. */
const NEAR = 120;

/** Marks an element that scrolls a chat; without one, the page does. */
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
  const paneOf = useCallback(() => chat.current?.closest(`[${CHAT_PANE}]`) ?? document.documentElement, [chat]);
  const scroll = useCallback(() => paneOf().scrollTo({ top: paneOf().scrollHeight }), [paneOf]);
  const goToEnd = useCallback(() => {
    sticks.current = true;
    scroll();
  }, [scroll]);
  useEffect(() => {
    const pane = paneOf();
    // The scrolling of the page is reported to the window.
    const target = pane === document.documentElement ? window : pane;
    let lastTop = pane.scrollTop;
    const onScroll = (): void => {
      const isNear = pane.scrollHeight - pane.scrollTop - pane.clientHeight < NEAR;
      // The page can have grown since it was scrolled to its end. Only going up leaves the end.
      sticks.current = isNear || (sticks.current && pane.scrollTop >= lastTop);
      lastTop = pane.scrollTop;
      setIsAtEnd(sticks.current);
    };
    target.addEventListener('scroll', onScroll, { passive: true });
    return () => target.removeEventListener('scroll', onScroll);
  }, [paneOf]);
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
