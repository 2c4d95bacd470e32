import { useFilters } from '../../records/use-filters.js';
import { SelectField, TextField } from '../../ui/field.js';

export const TIERS = ['fast', 'smart', 'thinking'] as const;
export type Tier = (typeof TIERS)[number];

/** How a message is answered, if not as the agent has it. */
export interface RunOptions {
  readonly tier?: Tier | undefined;
  /** 0 to 2. */
  readonly temperature?: number | undefined;
}

const TIER_OPTIONS = [
  { value: '', label: 'As the agent has it' },
  { value: 'fast', label: 'Fast' },
  { value: 'smart', label: 'Smart' },
  { value: 'thinking', label: 'Thinking' },
];

/** The options of the address (`?tier=…&temperature=…`); values that are none are left out. */
export function useRunOptions(): RunOptions {
  const [{ tier, temperature }] = useFilters();
  const number = Number(temperature);
  return {
    tier: TIERS.find((each) => each === tier),
    temperature: temperature?.trim() && number >= 0 && number <= 2 ? number : undefined,
  };
}

/** The fields of the tier and the temperature. They keep their values in the address. */
export function RunOptionFields() {
  const [{ tier = '', temperature = '' }, set] = useFilters();
  const number = Number(temperature);
  const isValid = temperature.trim() === '' || (number >= 0 && number <= 2);
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <SelectField
        label="Tier"
        hint="Each tier stands for a model. Settings say which."
        value={tier}
        options={TIER_OPTIONS}
        onChange={(value) => set({ tier: value })}
      />
      <TextField
        label="Temperature"
        hint="From 0 (the same each time) to 2 (very free). Empty: the model’s own."
        inputMode="decimal"
        value={temperature}
        error={isValid ? undefined : 'Enter a number from 0 to 2.'}
        onChange={(value) => set({ temperature: value })}
      />
    </div>
  );
}
