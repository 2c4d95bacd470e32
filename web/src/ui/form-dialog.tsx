import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from './button.js';
import { Dialog } from './dialog.js';
import { Form } from './form.js';
import { ErrorMessage } from './states.js';

/** An open dialog with a form. It closes when `onSubmit` resolves, and shows its error otherwise. */
export function FormDialog({
  title,
  description,
  submitLabel,
  onClose,
  onSubmit,
  className,
  children,
}: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly submitLabel: string;
  readonly onClose: () => void;
  readonly onSubmit: () => Promise<unknown>;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIsBusy(true);
    setError(undefined);
    onSubmit()
      .then(onClose, setError)
      .finally(() => setIsBusy(false));
  };
  return (
    <Dialog
      title={title}
      isOpen
      onClose={onClose}
      {...(description ? { description } : {})}
      {...(className ? { className } : {})}
    >
      <Form error={error} isBusy={isBusy} onSubmit={submit} className="flex min-w-0 flex-col gap-4">
        {children}
        <ErrorMessage error={error} />
        <div className="flex justify-end gap-2">
          <Button variant="secondary" disabled={isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" isBusy={isBusy}>
            {submitLabel}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
