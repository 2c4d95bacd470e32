import { AlertDialog as RadixAlert, Dialog as Radix } from 'radix-ui';
import { X } from 'lucide-react';
import { createContext, type ReactNode, useContext, useLayoutEffect, useState } from 'react';
import { Button } from './button.js';
import { cn } from './class-names.js';
import { focusMain } from './kept-focus.js';
import { ErrorMessage } from './states.js';

const OVERLAY = 'fixed inset-0 z-40 bg-black/50';
const BOX =
  'fixed top-1/2 left-1/2 z-50 flex max-h-[92dvh] w-[min(40rem,94vw)] -translate-x-1/2 -translate-y-1/2 flex-col ' +
  'gap-4 overflow-y-auto rounded-lg border bg-card p-5 shadow-lg';

const KeepOpen = createContext<(isBusy: boolean) => void>(() => undefined);

/**
 * While the request of a form runs, the dialog around it stays open to show the answer: some answers are shown only once.
 */
export function useKeptOpen(isBusy: boolean): void {
  const keepOpen = useContext(KeepOpen);
  // Before the page shows that the form is busy.
  useLayoutEffect(() => {
    keepOpen(isBusy);
    return () => keepOpen(false);
  }, [keepOpen, isBusy]);
}

/** A dialog over the view. It traps the focus and gives it back; Escape closes it. */
export function Dialog({
  title,
  description,
  isOpen,
  onClose,
  className,
  children,
}: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const [isBusy, setIsBusy] = useState(false);
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && !isBusy && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={OVERLAY} />
        <Box className={className} isDescribed={description !== undefined}>
          <div className="flex items-start justify-between gap-3">
            <div>
              <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
              {description && (
                <Radix.Description className="text-sm text-muted-foreground">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close asChild>
              <Button variant="ghost" size="icon" aria-label="Close" className="shrink-0" disabled={isBusy}>
                <X aria-hidden className="size-4" />
              </Button>
            </Radix.Close>
          </div>
          <KeepOpen value={setIsBusy}>{children}</KeepOpen>
        </Box>
      </Radix.Portal>
    </Radix.Root>
  );
}

/**
 * The focus begins in the first field of a form, or of a search. Without one, it is on the dialog: “Close” is not what
 * one came for.
 */
function beginFocus(event: Event): void {
  const box = event.currentTarget;
  if (!(box instanceof HTMLElement)) return;
  event.preventDefault();
  const field = box.querySelector<HTMLElement>(':is(form, [cmdk-root]) :is(input, select, textarea):not(:disabled)');
  (field ?? box).focus({ preventScroll: true });
}

/**
 * It gives the focus back to what had it before, or else to the view: our dialogs are opened by more than one button.
 */
function Box({
  className,
  isDescribed,
  children,
}: {
  readonly className: string | undefined;
  readonly isDescribed: boolean;
  readonly children: ReactNode;
}) {
  const [opener] = useState(() => document.activeElement);
  const giveBack = (event: Event): void => {
    event.preventDefault();
    if (opener instanceof HTMLElement && opener !== document.body && opener.checkVisibility()) opener.focus();
    else if (document.activeElement === document.body) focusMain();
  };
  return (
    <Radix.Content
      className={cn(BOX, className)}
      onOpenAutoFocus={beginFocus}
      onCloseAutoFocus={giveBack}
      {...(isDescribed ? {} : { 'aria-describedby': undefined })}
    >
      {children}
    </Radix.Content>
  );
}

/** A button whose action destroys something: it asks first, and shows the error if the action fails. */
export function ConfirmButton({
  label,
  title,
  children,
  onConfirm,
  size,
}: {
  /** On the button, and on that of the dialog, such as "Delete connection". */
  readonly label: string;
  readonly title: string;
  /** What the action does, and what cannot be undone. */
  readonly children: ReactNode;
  readonly onConfirm: () => Promise<unknown>;
  readonly size?: 'default' | 'small';
}) {
  const [isOpen, setIsOpen] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const confirm = (): void => {
    setIsBusy(true);
    setError(undefined);
    onConfirm()
      .then(() => setIsOpen(false), setError)
      .finally(() => setIsBusy(false));
  };
  return (
    // It stays open to show the answer of a request.
    <RadixAlert.Root open={isOpen} onOpenChange={(open) => !isBusy && setIsOpen(open)}>
      <RadixAlert.Trigger asChild>
        <Button variant="danger" {...(size && { size })}>
          {label}
        </Button>
      </RadixAlert.Trigger>
      <RadixAlert.Portal>
        <RadixAlert.Overlay className={OVERLAY} />
        <RadixAlert.Content className={BOX}>
          <RadixAlert.Title className="text-lg font-semibold">{title}</RadixAlert.Title>
          <RadixAlert.Description asChild>
            <div className="text-sm text-muted-foreground">{children}</div>
          </RadixAlert.Description>
          <ErrorMessage error={error} />
          <div className="flex justify-end gap-2">
            <RadixAlert.Cancel asChild>
              <Button variant="secondary" disabled={isBusy}>
                Cancel
              </Button>
            </RadixAlert.Cancel>
            <Button variant="danger" isBusy={isBusy} onClick={confirm}>
              {label}
            </Button>
          </div>
        </RadixAlert.Content>
      </RadixAlert.Portal>
    </RadixAlert.Root>
  );
}
