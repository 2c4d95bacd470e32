import { TextField } from './field.js';

export interface NumberField<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly hint?: string;
  readonly inputMode: 'decimal' | 'numeric';
  readonly min: number;
  readonly max: number;
  readonly step?: 'any';
  readonly required?: boolean;
  readonly path?: string;
}

/** Numbers that can be left out, side by side. Their values are the texts of the fields. */
export function NumberFields<Name extends string>({
  fields,
  draft,
  disabled,
  onChange,
}: {
  readonly fields: readonly NumberField<Name>[];
  readonly draft: Readonly<Record<Name, string>>;
  readonly disabled: boolean;
  readonly onChange: (draft: Readonly<Record<Name, string>>) => void;
}) {
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      {fields.map(({ name, ...field }) => (
        <TextField
          key={name}
          {...field}
          type="number"
          disabled={disabled}
          value={draft[name]}
          onChange={(text) => onChange({ ...draft, [name]: text })}
        />
      ))}
    </div>
  );
}

export function textOf(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}
