import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { type NumberField, NumberFields, textOf } from '../../ui/number-fields.js';

type Target = ToolOutput<'MODEL_TIERS_GET'>['item']['smart'];
type Price = NonNullable<NonNullable<Target>['price']>;

/** The texts of the fields. */
export type PriceDraft = Readonly<Record<keyof Price, string>>;

const RANGE = { inputMode: 'decimal', min: 0, max: 1_000_000, step: 'any' } as const;
const FIELDS: readonly NumberField<keyof Price>[] = [
  { name: 'input', label: 'Input price', ...RANGE },
  { name: 'cached_input', label: 'Cached input price', hint: 'Empty: as other input.', ...RANGE },
  { name: 'output', label: 'Output price', ...RANGE },
];

export function priceDraftOf({ input, output, cached_input: cached }: Partial<Price> = {}): PriceDraft {
  return { input: textOf(input), output: textOf(output), cached_input: textOf(cached) };
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
    <fieldset className="min-w-0">
      <legend className="pb-1 text-[0.8125rem] text-muted-foreground">Optional: US dollars per million tokens.</legend>
      <NumberFields
        fields={FIELDS.map((field) => ({ ...field, required: isSet && field.name !== 'cached_input' }))}
        {...{ draft, disabled, onChange }}
      />
    </fieldset>
  );
}
