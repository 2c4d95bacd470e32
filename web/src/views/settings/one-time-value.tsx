import type { ReactNode } from 'react';
import { CopyButton } from '../../ui/copy-button.js';
import { Dialog } from '../../ui/dialog.js';

/** Shows a link or a secret that the service gives once. @param value undefined for none */
export function OneTimeValue({
  title,
  label,
  value,
  onClose,
  children,
}: {
  readonly title: string;
  /** The name of the value, such as "Invitation link". */
  readonly label: string;
  readonly value: string | undefined;
  readonly onClose: () => void;
  /** What to do with it. */
  readonly children: ReactNode;
}) {
  return (
    <Dialog title={title} isOpen={value !== undefined} onClose={onClose}>
      <div className="text-sm">{children}</div>
      <div className="flex flex-wrap items-center gap-2 rounded-md border border-success/50 bg-success/8 p-3">
        <code aria-label={label} className="min-w-0 flex-1 text-sm break-all">
          {value}
        </code>
        <CopyButton text={value ?? ''} />
      </div>
    </Dialog>
  );
}
