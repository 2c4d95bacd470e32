import { ChevronsUpDown } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from './button.js';
import { cn } from './class-names.js';
import { Dialog } from './dialog.js';
import { useFieldNotes } from './field.js';

/** What every field has that opens a dialog to choose. */
export interface ChooserProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** See `Field`. */
  readonly path?: string | undefined;
  readonly className?: string | undefined;
}

/** A field that says what is chosen, and opens a dialog to choose something else. */
export function Chooser({
  label,
  hint,
  path,
  className,
  words,
  onChoose,
  children,
}: ChooserProps & {
  /** What is chosen. */
  readonly words: string;
  readonly onChoose: (value: string) => void;
  /** The content of the dialog, which a choice closes. */
  readonly children: (choose: (value: string) => void) => ReactNode;
}) {
  const { id, describedBy, isInvalid, notes } = useFieldNotes(path, hint);
  const [isOpen, setIsOpen] = useState(false);
  const choose = (value: string): void => {
    onChoose(value);
    setIsOpen(false);
  };
  return (
    <div className={cn('flex min-w-0 flex-col gap-1', className)}>
      <span id={`${id}-label`} className="text-sm font-medium">
        {label}
      </span>
      <Button
        variant="secondary"
        aria-labelledby={`${id}-label ${id}-value`}
        aria-describedby={describedBy}
        aria-haspopup="dialog"
        data-invalid={isInvalid}
        className="w-full justify-between font-normal"
        onClick={() => setIsOpen(true)}
      >
        <span id={`${id}-value`} className="min-w-0 text-left wrap-anywhere">
          {words}
        </span>
        <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-muted-foreground" />
      </Button>
      {notes}
      <Dialog title={label} isOpen={isOpen} onClose={() => setIsOpen(false)} className="top-24 translate-y-0">
        {children(choose)}
      </Dialog>
    </div>
  );
}
