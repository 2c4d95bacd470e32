import { useCallback, useEffect, useRef, useState } from 'react';

/** The end counts as reached within this distance, in pixels. */
const NEAR = 120;

/** Keeps the end of the page in sight while `content` grows, unless somebody has scrolled up. */
export function useStickToEnd(content: unknown): { readonly isAtEnd: boolean; readonly goToEnd: () => void } {
  const [isAtEnd, setIsAtEnd] = useState(true);
  const sticks = useRef(true);
  const goToEnd = useCallback(() => {
    sticks.current = true;
    scrollTo({ top: document.documentElement.scrollHeight });
  }, []);
  useEffect(() => {
    let lastY = scrollY;
    const onScroll = (): void => {
      const isNear = document.documentElement.scrollHeight - scrollY - innerHeight < NEAR;
      // The page can have grown since it was scrolled to its end. Only going up leaves the end.
      sticks.current = isNear || (sticks.current && scrollY >= lastY);
      lastY = scrollY;
      setIsAtEnd(sticks.current);
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  useEffect(() => {
    // Pictures have no height until they are loaded. The event does not bubble, nor does it reach the window.
    const onLoad = (): void => void (sticks.current && goToEnd());
    document.addEventListener('load', onLoad, { capture: true });
    return () => document.removeEventListener('load', onLoad, { capture: true });
  }, [goToEnd]);
  useEffect(() => {
    if (sticks.current) scrollTo({ top: document.documentElement.scrollHeight });
  }, [content]);
  return { isAtEnd, goToEnd };
}
