import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { Button } from './button.js';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly undo: (() => void) | undefined;
}

type ShowToast = (text: string, options?: { readonly undo?: () => void }) => void;

const VISIBLE_MS = 6000;
const Context = createContext<ShowToast>(() => undefined);

/** A function that says that something was done, and can offer to undo it. */
export function useToast(): ShowToast {
  return useContext(Context);
}

/** Shows what `useToast` says, at the foot of the page, and reads it to screen readers. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const remove = useCallback((id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)), []);
  const show: ShowToast = useCallback(
    (text, { undo } = {}) => {
      const id = performance.now();
      setToasts((shown) => [...shown, { id, text, undo }]);
      setTimeout(() => remove(id), VISIBLE_MS);
    },
    [remove],
  );
  return (
    <Context value={show}>
      {children}
      <div role="status" aria-live="polite" className="fixed right-4 bottom-4 z-60 flex max-w-[90vw] flex-col gap-2">
        {toasts.map(({ id, text, undo }) => (
          <div key={id} className="flex items-center gap-3 rounded-md border bg-card px-4 py-2.5 text-sm shadow-lg">
            <span className="break-words">{text}</span>
            {undo && (
              <Button
                size="small"
                variant="secondary"
                onClick={() => {
                  undo();
                  remove(id);
                }}
              >
                Undo
              </Button>
            )}
          </div>
        ))}
      </div>
    </Context>
  );
}
