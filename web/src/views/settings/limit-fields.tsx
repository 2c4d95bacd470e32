import { useState } from 'react';
import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { type NumberField, NumberFields, textOf } from '../../ui/number-fields.js';

type Target = NonNullable<ToolOutput<'MODEL_TIERS_GET'>['item']['smart']>;
type Limits = Pick<Target, 'max_output_tokens' | 'first_chunk_timeout_s'>;

/** The texts of the fields. */
export type LimitsDraft = Readonly<Record<keyof Limits, string>>;

const FIELDS: readonly NumberField<keyof Limits>[] = [
  {
    name: 'max_output_tokens',
    label: 'Tokens of an answer',
    hint: 'At most. Empty: as many as the model can.',
    inputMode: 'numeric',
    min: 1,
    max: 10_000_000,
  },
  {
    name: 'first_chunk_timeout_s',
    label: 'Seconds until an answer begins',
    hint: 'Later, the call has failed. Empty: 60.',
    inputMode: 'numeric',
    min: 1,
    max: 600,
  },
];

export function limitsDraftOf({ max_output_tokens: tokens, first_chunk_timeout_s: seconds }: Limits): LimitsDraft {
  return { max_output_tokens: textOf(tokens), first_chunk_timeout_s: textOf(seconds) };
}

/** The limits as `MODEL_TIERS_SET` takes them; empty fields mean that there are none. */
export function limitsOf({ max_output_tokens: tokens, first_chunk_timeout_s: seconds }: LimitsDraft): Limits {
  return {
    ...(tokens !== '' && { max_output_tokens: Number(tokens) }),
    ...(seconds !== '' && { first_chunk_timeout_s: Number(seconds) }),
  };
}

/** How much a model can answer, and how long it can take. Few need that, so it is closed unless something is set. */
export function LimitFields({
  draft,
  disabled,
  onChange,
}: {
  readonly draft: LimitsDraft;
  readonly disabled: boolean;
  readonly onChange: (draft: LimitsDraft) => void;
}) {
  const [isOpen, setIsOpen] = useState(() => FIELDS.some(({ name }) => draft[name] !== ''));
  return (
    <details
      open={isOpen}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
      // The browser cannot say what is wrong with a field that is not shown.
      onInvalidCapture={({ currentTarget }) => (currentTarget.open = true)}
    >
      <summary className="cursor-pointer text-sm">Limits</summary>
      <div className="pt-2">
        <NumberFields fields={FIELDS} {...{ draft, disabled, onChange }} />
      </div>
    </details>
  );
}
