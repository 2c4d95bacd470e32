import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { TextField } from '../../ui/field.js';

type Target = ToolOutput<'MODEL_TIERS_GET'>['item']['smart'];
type Price = NonNullable<NonNullable<Target>['price']>;

/** The texts of the fields. */
type PriceDraft = Readonly<Record<keyof Price, string>>;

const FIELDS: readonly { readonly name: keyof Price; readonly label: string; readonly hint?: string }[] = [
  { name: 'input', label: 'Input price' },
  { name: 'cached_input', label: 'Cached input price', hint: 'Empty: as other input.' },
  { name: 'output', label: 'Output price' },
];

export function priceDraftOf(target: Target): PriceDraft {
  const { input, output, cached_input: cached } = target?.price ?? {};
  return { input: textOf(input), output: textOf(output), cached_input: textOf(cached) };
}

function textOf(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}

export function isSamePrice(a: PriceDraft, b: PriceDraft): boolean {
  return FIELDS.every(({ name }) => a[name].trim() === b[name].trim());
}

/** The price as `MODEL_TIERS_SET` takes it; empty fields mean that there is none. */
export function priceOf({ input, output, cached_input: cached }: PriceDraft): { price?: Price } {
  if (input === '' || output === '') return {};
  return {
    price: { input: Number(input), output: Number(output), ...(cached !== '' && { cached_input: Number(cached) }) },
  };
}

/** What the tokens of a model cost. */
export function PriceFields({
  draft,
  disabled,
  onChange,
}: {
  readonly draft: PriceDraft;
  readonly disabled: boolean;
  readonly onChange: (draft: PriceDraft) => void;
}) {
  const isSet = FIELDS.some(({ name }) => draft[name] !== '');
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="text-[0.8125rem] text-muted-foreground">
        Optional: US dollars per million tokens. Runs from then on get a cost; earlier runs keep theirs.
      </legend>
      <div className="grid gap-3 sm:grid-cols-3">
        {FIELDS.map(({ name, label, hint }) => (
          <TextField
            key={name}
            label={label}
            hint={hint}
            type="number"
            inputMode="decimal"
            min={0}
            max={1_000_000}
            step="any"
            required={isSet && name !== 'cached_input'}
            disabled={disabled}
            value={draft[name]}
            onChange={(text) => onChange({ ...draft, [name]: text })}
          />
        ))}
      </div>
    </fieldset>
  );
}
