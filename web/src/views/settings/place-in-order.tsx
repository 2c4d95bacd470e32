import { ArrowDown, ArrowUp, X } from 'lucide-react';
import { type MouseEvent, type ReactNode, useId } from 'react';
import { Button } from '../../ui/button.js';

/** One of several things in an order, with buttons that move and remove it; a thing that is alone has none. */
export function PlaceInOrder({
  name,
  index,
  length,
  isFixed,
  onMove,
  onRemove,
  children,
}: {
  /** Of the place, such as "Fallback 1". */
  readonly name: string;
  readonly index: number;
  readonly length: number;
  readonly isFixed: boolean;
  /** Shows the thing in its new place before it returns. */
  readonly onMove: (to: number) => void;
  readonly onRemove: (() => void) | undefined;
  readonly children: ReactNode;
}) {
  const id = useId();
  const inText = name.toLowerCase();
  const isAlone = length === 1;
  const moveButton = (Icon: typeof ArrowUp, direction: 'up' | 'down', to: number) => (
    <Button
      variant="ghost"
      size="icon"
      aria-label={`Move ${inText} ${direction}`}
      // At the end of its way, the button keeps the focus: it is not disabled.
      aria-disabled={to < 0 || to >= length}
      onClick={({ currentTarget }: MouseEvent<HTMLButtonElement>) => {
        if (to < 0 || to >= length) return;
        onMove(to);
        // An element that changes its place loses the focus.
        currentTarget.focus();
      }}
    >
      <Icon aria-hidden className="size-4" />
    </Button>
  );
  return (
    <div
      className="flex min-w-0 flex-col gap-2"
      role={isAlone ? undefined : 'group'}
      aria-labelledby={isAlone ? undefined : id}
    >
      {!isAlone && (
        <div className="flex items-center justify-between gap-2 border-t pt-1">
          <h4 id={id} className="text-sm font-medium">
            {name}
          </h4>
          {!isFixed && (
            <div className="flex gap-1">
              {moveButton(ArrowUp, 'up', index - 1)}
              {moveButton(ArrowDown, 'down', index + 1)}
              {onRemove && (
                <Button variant="ghost" size="icon" aria-label={`Remove ${inText}`} onClick={onRemove}>
                  <X aria-hidden className="size-4" />
                </Button>
              )}
            </div>
          )}
        </div>
      )}
      {children}
    </div>
  );
}
