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
    const onScroll = (): void => {
      const { scrollHeight } = document.documentElement;
      sticks.current = scrollHeight - scrollY - innerHeight < NEAR;
      setIsAtEnd(sticks.current);
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, []);
  useEffect(() => {
    if (sticks.current) scrollTo({ top: document.documentElement.scrollHeight });
  }, [content]);
  return { isAtEnd, goToEnd };
}
