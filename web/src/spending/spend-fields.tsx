import { type NumberField, NumberFields, textOf } from '../ui/number-fields.js';

/** A spending limit as tools return it. */
export interface Spend {
  readonly usd_per_day?: number | undefined;
  readonly usd_per_month?: number | undefined;
}

/** The texts of the fields. */
export type SpendDraft = Readonly<Record<keyof Spend, string>>;

const RANGE = { inputMode: 'decimal', min: 0.000_001, max: 100_000_000, step: 'any' } as const;
const FIELDS: readonly NumberField<keyof Spend>[] = [
  {
    name: 'usd_per_day',
    path: 'spend.usd_per_day',
    label: 'US dollars per day',
    hint: 'Of model calls, by UTC. Empty: no limit.',
    ...RANGE,
  },
  {
    name: 'usd_per_month',
    path: 'spend.usd_per_month',
    label: 'US dollars per month',
    hint: 'Of model calls, by UTC. Empty: no limit.',
    ...RANGE,
  },
];

export function spendDraftOf(spend: Spend | null | undefined): SpendDraft {
  return { usd_per_day: textOf(spend?.usd_per_day), usd_per_month: textOf(spend?.usd_per_month) };
}

/** The limit as tools take it; empty fields clear it. */
export function spendOf({ usd_per_day: day, usd_per_month: month }: SpendDraft) {
  return { usd_per_day: day === '' ? null : Number(day), usd_per_month: month === '' ? null : Number(month) };
}

/** `$5 a day, $100 a month`. */
export function spendInWords(spend: Spend | null | undefined): string {
  const { usd_per_day: day, usd_per_month: month } = spend ?? {};
  const limits = [day !== undefined && `$${day} a day`, month !== undefined && `$${month} a month`];
  return limits.filter((limit) => limit !== false).join(', ') || 'not limited';
}

/** What model calls can cost. */
export function SpendFields({
  draft,
  disabled = false,
  onChange,
}: {
  readonly draft: SpendDraft;
  readonly disabled?: boolean;
  readonly onChange: (draft: SpendDraft) => void;
}) {
  return (
    <fieldset className="min-w-0">
      <legend className="pb-1 text-sm font-medium">Spending limit</legend>
      <NumberFields fields={FIELDS} {...{ draft, disabled, onChange }} />
    </fieldset>
  );
}
