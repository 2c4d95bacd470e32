import { Slot } from 'radix-ui';
import type { ComponentProps, MouseEvent } from 'react';
import { cn } from './class-names.js';

const VARIANTS = {
  primary: 'bg-primary text-primary-foreground hover:opacity-90',
  secondary: 'border border-input bg-card hover:bg-muted',
  ghost: 'hover:bg-muted',
  danger: 'border border-destructive text-destructive hover:bg-destructive/10',
} as const;

export interface ButtonProps extends ComponentProps<'button'> {
  readonly variant?: keyof typeof VARIANTS;
  readonly size?: 'default' | 'small' | 'icon';
  /** Shows that the action is under way; a busy button cannot be pressed again. */
  readonly isBusy?: boolean;
  /** Renders the child (a link) with the looks of a button. */
  readonly asChild?: boolean;
}

/** A button. Its text says what it does; one with an icon only needs an `aria-label`. */
export function Button({
  variant = 'primary',
  size = 'default',
  isBusy,
  asChild,
  className,
  onClick,
  ...rest
}: ButtonProps) {
  const looks = cn(
    'inline-flex items-center justify-center gap-2 rounded-md text-sm font-medium whitespace-nowrap ' +
      'disabled:opacity-60 aria-disabled:opacity-60',
    size === 'default' && 'min-h-9 px-3.5 py-1.5 pointer-coarse:min-h-11',
    size === 'small' && 'min-h-7 px-2.5 py-0.5 text-[0.8125rem] pointer-coarse:min-h-11',
    size === 'icon' && 'size-8 pointer-coarse:size-11',
    VARIANTS[variant],
    className,
  );
  if (asChild) return <Slot.Root className={looks} onClick={onClick} {...rest} />;
  return (
    <button
      type="button"
      className={looks}
      // Not `disabled`, which would take the focus away.
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy || undefined}
      onClick={isBusy ? prevent : onClick}
      {...rest}
    />
  );
}

/** Also keeps the button from submitting its form, as Enter in a field does. */
function prevent(event: MouseEvent): void {
  event.preventDefault();
}
