import { type Option, SelectField, TextField } from '../../ui/field.js';

const DAY_S = 86_400;

const LIFETIMES: readonly Option[] = [
  { value: String(7 * DAY_S), label: '7 days' },
  { value: String(30 * DAY_S), label: '30 days' },
  { value: String(90 * DAY_S), label: '90 days' },
  { value: String(365 * DAY_S), label: '1 year' },
  { value: 'date', label: 'A date…' },
  { value: 'never', label: 'It does not expire' },
];

/** When a key expires: a lifetime in seconds, `never`, or a day (`2027-01-31`). */
export type Expiry = string;

export const DEFAULT_EXPIRY: Expiry = String(90 * DAY_S);

/** Chooses when a key expires. */
export function ExpiryField({
  value,
  onChange,
}: {
  readonly value: Expiry;
  readonly onChange: (expiry: Expiry) => void;
}) {
  const isDate = !LIFETIMES.some((lifetime) => lifetime.value === value);
  const tomorrow = new Date(Date.now() + DAY_S * 1000).toISOString().slice(0, 10);
  return (
    <div className="flex flex-col gap-2">
      <SelectField
        label="Expires after"
        path="expiresIn"
        value={isDate ? 'date' : value}
        options={LIFETIMES}
        onChange={(choice) => onChange(choice === 'date' ? tomorrow : choice)}
      />
      {isDate && <TextField label="Last day" type="date" required min={tomorrow} value={value} onChange={onChange} />}
    </div>
  );
}

/** The lifetime as the API takes it: whole seconds, absent for a key that does not expire. A day counts to its end. */
export function expiresInOf(expiry: Expiry): { expiresIn?: number } {
  if (expiry === 'never') return {};
  if (/^\d+$/.test(expiry)) return { expiresIn: Number(expiry) };
  const end = new Date(`${expiry}T23:59:59`);
  return { expiresIn: Math.max(1, Math.floor((end.getTime() - Date.now()) / 1000)) };
}
