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
  readonly className?: string;
  readonly children: (control: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': true | undefined;
    className: string;
  }) => ReactNode;
}

/** A label, a control, a hint and an error that belong together. */
export function Field({ label, hint, error: ownError, isLabelHidden, path, className, children }: FieldProps) {
  const id = useId();
  const refusal = useFieldError(path);
  const error = ownError ?? refusal;
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className={cn('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className={isLabelHidden ? 'sr-only' : 'text-sm font-medium'}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': error ? true : undefined,
        className: CONTROL,
      })}
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
    </div>
  );
}

type Without<Tag extends 'input' | 'textarea' | 'select'> = Omit<ComponentProps<Tag>, 'onChange' | 'value' | 'id'>;

/** A line of text (or an address, a password, a number as text). */
export function TextField({
  label,
  hint,
  error,
  isLabelHidden,
  path,
  value,
  onChange,
  className,
  ...rest
}: FieldLabels & Without<'input'> & { readonly value: string; readonly onChange: (value: string) => void }) {
  return (
    <Field {...{ label, hint, error, isLabelHidden, path, className }}>
      {(control) => <input {...rest} {...control} value={value} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}

/** Several lines of text. */
export function TextAreaField({
  label,
  hint,
  error,
  isLabelHidden,
  path,
  value,
  onChange,
  className,
  isCode,
  ...rest
}: FieldLabels &
  Without<'textarea'> & {
    readonly value: string;
    readonly onChange: (value: string) => void;
    readonly isCode?: boolean;
  }) {
  return (
    <Field {...{ label, hint, error, isLabelHidden, path, className }}>
      {(control) => (
        <textarea
          rows={4}
          spellCheck={isCode ? false : undefined}
          {...rest}
          {...control}
          className={cn(control.className, isCode && 'font-mono text-[0.8125rem]')}
          value={value}
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
  label,
  hint,
  error,
  isLabelHidden,
  path,
  value,
  onChange,
  options,
  className,
  ...rest
}: FieldLabels &
  Without<'select'> & {
    readonly value: Value;
    readonly onChange: (value: Value) => void;
    readonly options: readonly Option<Value>[];
  }) {
  return (
    <Field {...{ label, hint, error, isLabelHidden, path, className }}>
      {(control) => (
        <select {...rest} {...control} value={value} onChange={(event) => onChange(event.target.value as Value)}>
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
