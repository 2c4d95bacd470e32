import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';

/** The first and the last chosen step, in the order in which they were chosen. */
type Selection = readonly [number, number];

/** Pixels at the sides of a picture that are not part of its axis. */
export interface Insets {
  readonly left: number;
  readonly right: number;
}

const NO_INSETS: Insets = { left: 0, right: 0 };

/**
 * A picture of equal steps of time in which a stretch can be chosen: by dragging, or with the arrow keys, which extend
 * it with Shift, and Enter. Escape gives it up; without one, it leads back to the whole.
 */
export function Brush({
  label,
  count,
  insets = NO_INSETS,
  className = '',
  wordsOf,
  hint,
  before,
  after,
  onChoose,
  onEscape,
  children,
}: {
  readonly label: string;
  /** The number of steps; at least one. */
  readonly count: number;
  readonly insets?: Insets;
  readonly className?: string;
  /** What is in the steps from `first` to `end`. */
  readonly wordsOf: (first: number, end: number) => string;
  /** Says below the picture what can be done. */
  readonly hint: string;
  /** Below the picture, at its left. */
  readonly before?: ReactNode;
  /** Below the picture, at its right. */
  readonly after?: ReactNode;
  readonly onChoose: (first: number, end: number) => void;
  /** Escape, while nothing is chosen. */
  readonly onEscape?: () => void;
  readonly children: ReactNode;
}) {
  const [selection, setSelection] = useState<Selection>();
  const last = count - 1;
  const [anchor, cursor] = selection ?? [last, last];
  const [first, end] = [Math.min(anchor, cursor, last), Math.min(Math.max(anchor, cursor), last)];

  const choose = (): void => {
    if (selection === undefined) return;
    setSelection(undefined);
    onChoose(first, end);
  };
  const moveTo = (to: number, isExtended: boolean): void => {
    const at = Math.max(0, Math.min(last, to));
    setSelection([isExtended ? anchor : at, at]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: cursor - 1,
      ArrowRight: cursor + 1,
      Home: 0,
      End: last,
    };
    const to = steps[event.key];
    if (to !== undefined) moveTo(to, event.shiftKey);
    else if (event.key === 'Enter') choose();
    else if (event.key === 'Escape' && selection !== undefined) setSelection(undefined);
    else if (event.key === 'Escape') onEscape?.();
    else return;
    event.preventDefault();
  };
  const stepAt = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.floor(((clientX - left - insets.left) / (width - insets.left - insets.right)) * count);
  };

  const words = wordsOf(first, end);
  const axis = `(100% - ${insets.left + insets.right}px)`;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${label}. Extend with Shift and the arrow keys, choose with Enter.`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={Math.min(cursor, last)}
        aria-valuetext={words}
        className={`relative cursor-crosshair touch-pan-y ${className}`}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          moveTo(stepAt(event), false);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) moveTo(stepAt(event), true);
        }}
        onPointerUp={choose}
        onPointerCancel={() => setSelection(undefined)}
      >
        {selection && (
          <div
            aria-hidden
            className="absolute inset-y-0 bg-accent"
            style={{
              left: `calc(${insets.left}px + ${axis} * ${first / count})`,
              width: `calc(${axis} * ${(end - first + 1) / count})`,
            }}
          />
        )}
        <div aria-hidden className="relative h-full">
          {children}
        </div>
      </div>
      <div aria-hidden className="flex justify-between gap-3 text-xs text-muted-foreground">
        <span>{before}</span>
        <span className="truncate">{selection ? words : hint}</span>
        <span>{after}</span>
      </div>
    </div>
  );
}
