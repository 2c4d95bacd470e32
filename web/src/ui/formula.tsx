import { type ReactNode, useEffect, useRef, useState } from 'react';
import { cn } from './class-names.js';
import { CodeSample } from './code-sample.js';

/** A formula that is being written changes more often. */
const QUIET_MS = 150;
/** A longer formula can be wider than a telephone. */
const LONG = 40;

/** A formula in TeX. What cannot be shown as one, also because it is not complete, is shown as text. */
export function Formula({ tex, isBlock }: { readonly tex: string; readonly isBlock: boolean }) {
  const formula = useMath(tex, isBlock);
  if (isBlock) {
    if (formula === undefined) return <CodeSample text={tex} language={undefined} isGrowing={false} />;
    return (
      <div tabIndex={0} role="region" aria-label="Formula" className="my-2 overflow-x-auto overflow-y-hidden py-1">
        {formula}
      </div>
    );
  }
  if (formula === undefined) return <code className="font-mono text-[0.85em]">{tex}</code>;
  return (
    <span className={cn(tex.length > LONG && 'inline-block max-w-full overflow-x-auto overflow-y-hidden align-middle')}>
      {formula}
    </span>
  );
}

/** Loads the library with the first formula. */
function useMath(tex: string, isBlock: boolean): ReactNode | undefined {
  const [shown, setShown] = useState<{ readonly tex: string; readonly formula: ReactNode }>();
  const first = useRef(tex);
  useEffect(() => {
    let isOld = false;
    const show = async (): Promise<void> => {
      try {
        const { mathElements } = await import('./math-elements.js');
        if (!isOld) setShown({ tex, formula: mathElements(tex, isBlock) });
      } catch {
        // It stays text.
      }
    };
    const timer = setTimeout(() => void show(), tex === first.current ? 0 : QUIET_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [tex, isBlock]);
  return shown?.tex === tex ? shown.formula : undefined;
}
