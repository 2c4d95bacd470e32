import { type ComponentProps, useEffect, useMemo, useRef, useState } from 'react';
import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import { useKeptOpen } from './dialog.js';
import { FieldErrors, FieldErrorsContext } from './field-errors.js';

/**
 * A form whose request may be refused. What the service says about a value is shown at the field with its `path`, and
 * the first of these fields gets the focus. Give the error to an `ErrorMessage` in the form, too: it shows the rest.
 */
export function Form({
  error,
  isBusy = false,
  ...rest
}: ComponentProps<'form'> & {
  /** Of the last attempt. */
  readonly error: Error | null | undefined;
  /** The request runs: a dialog around the form stays open. */
  readonly isBusy?: boolean;
}) {
  useKeptOpen(isBusy);
  const form = useRef<HTMLFormElement>(null);
  const [paths] = useState(() => new Map<string, number>());
  const errors = useMemo(
    () => new FieldErrors(error instanceof SignalboxError ? error.errors : [], paths),
    [error, paths],
  );
  useEffect(() => {
    if (!(error instanceof SignalboxError)) return;
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid]');
    for (let around = first?.closest('details'); around; around = around.parentElement?.closest('details')) {
      around.open = true;
    }
    first?.focus();
  }, [error]);
  return (
    <FieldErrorsContext value={errors}>
      <form ref={form} {...rest} />
    </FieldErrorsContext>
  );
}
