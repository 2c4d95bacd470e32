import { type ComponentProps, type ReactNode, useId } from 'react';
import { cn } from './class-names.js';
import { useFieldError } from './field-errors.js';

const CONTROL =
  'w-full rounded-md border border-input bg-card px-3 py-1.5 text-foreground placeholder:text-muted-foreground ' +
  'disabled:opacity-60 aria-invalid:border-destructive';

interface FieldLabels {
  readonly label: string;
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
  /** Leaves the label to screen readers. */
  readonly isLabelHidden?: boolean | undefined;
  /** Of the value in the request of the form, such as `title`: what the service says about it is shown here. */
  readonly path?: string | undefined;
}

interface FieldProps extends FieldLabels {
  readonly className?: string | undefined;
  readonly children: (control: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': true | undefined;
    className: string;
  }) => ReactNode;
}

/** What describes a control: its hint, and what is wrong with its value, as the form or the service says. */
export function useFieldNotes(path: string | undefined, hint: ReactNode, ownError?: string) {
  const id = useId();
  const refusal = useFieldError(path);
  const error = ownError ?? refusal;
  return {
    id,
    describedBy: [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined,
    isInvalid: error ? (true as const) : undefined,
    notes: (
      <>
        {hint && (
          <p id={`${id}-hint`} className="text-[0.8125rem] text-muted-foreground">
            {hint}
          </p>
        )}
        {error && (
          <p id={`${id}-error`} className="text-[0.8125rem] text-destructive">
            {error}
          </p>
        )}
      </>
    ),
  };
}

/** A label, a control, a hint and an error that belong together. */
export function Field({ label, hint, error: ownError, isLabelHidden, path, className, children }: FieldProps) {
  const { id, describedBy, isInvalid, notes } = useFieldNotes(path, hint, ownError);
  return (
    <div className={cn('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className={isLabelHidden ? 'sr-only' : 'text-sm font-medium'}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': describedBy,
        'aria-invalid': isInvalid,
        className: CONTROL,
      })}
      {notes}
    </div>
  );
}

/** The properties of a field: its labels, its value, and what the browser's control takes. */
type ControlProps<Tag extends 'input' | 'textarea' | 'select', Value extends string = string> = FieldLabels &
  Omit<ComponentProps<Tag>, 'onChange' | 'value' | 'id'> & {
    readonly value: Value;
    readonly onChange: (value: Value) => void;
  };

/** Separates the properties that `Field` takes from those of the browser's control. */
function splitLabels<Props extends FieldLabels & { readonly className?: string | undefined }>({
  label,
  hint,
  error,
  isLabelHidden,
  path,
  className,
  ...rest
}: Props) {
  return [{ label, hint, error, isLabelHidden, path, className }, rest] as const;
}

/** A line of text (or an address, a password, a number as text). */
export function TextField(props: ControlProps<'input'>) {
  const [labels, { onChange, ...rest }] = splitLabels(props);
  return (
    <Field {...labels}>
      {(control) => <input {...rest} {...control} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}

/** Several lines of text. */
export function TextAreaField({ isCode, ...props }: ControlProps<'textarea'> & { readonly isCode?: boolean }) {
  const [labels, { onChange, ...rest }] = splitLabels(props);
  return (
    <Field {...labels}>
      {(control) => (
        <textarea
          rows={4}
          spellCheck={isCode ? false : undefined}
          {...rest}
          {...control}
          className={cn(control.className, isCode && 'font-mono text-[0.8125rem]')}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

export interface Option<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
}

/** A choice of one. The browser's own control: it works with every keyboard and screen reader. */
export function SelectField<Value extends string>({
  options,
  ...props
}: ControlProps<'select', Value> & { readonly options: readonly Option<Value>[] }) {
  const [labels, { onChange, ...rest }] = splitLabels(props);
  return (
    <Field {...labels}>
      {(control) => (
        <select {...rest} {...control} onChange={(event) => onChange(event.target.value as Value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Yes or no. */
export function CheckboxField({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input
        id={id}
        type="checkbox"
        className="mt-1 size-4 shrink-0 accent-primary"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.target.checked)}
      />
      <div className="min-w-0">
        <label htmlFor={id}>{label}</label>
        {hint && (
          <p id={`${id}-hint`} className="text-[0.8125rem] text-muted-foreground">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
