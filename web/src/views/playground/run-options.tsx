import { SlidersHorizontal } from 'lucide-react';
import { useState } from 'react';
import { useFilters } from '../../api/filters.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { namesOf } from './columns.js';

const TIERS = ['fast', 'smart', 'thinking'] as const;
type Tier = (typeof TIERS)[number];

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
export function useRunOptions(column = 1): RunOptions {
  const [filters] = useFilters();
  const { tier, temperature } = namesOf(column);
  return optionsOf({ tier: filters[tier], temperature: filters[temperature] });
}

/** The options that these texts are. */
export function optionsOf({
  tier,
  temperature,
}: {
  readonly tier?: string | undefined;
  readonly temperature?: string | undefined;
}): RunOptions {
  const number = Number(temperature);
  return {
    tier: TIERS.find((each) => each === tier),
    temperature: temperature?.trim() && number >= 0 && number <= 2 ? number : undefined,
  };
}

/** A button that shows the chosen options and opens a dialog with their fields. */
export function RunOptionsButton({ column = 1 }: { readonly column?: number }) {
  const [isOpen, setIsOpen] = useState(false);
  const { tier, temperature } = useRunOptions(column);
  const chosen = [tier, temperature !== undefined && `temperature ${temperature}`].filter(Boolean).join(', ');
  return (
    <>
      <Button variant="ghost" size="small" aria-haspopup="dialog" onClick={() => setIsOpen(true)}>
        <SlidersHorizontal aria-hidden className="size-3.5" />
        Options{chosen && `: ${chosen}`}
      </Button>
      <Dialog
        title="Options"
        description="For the messages that you send from now on. The address keeps them."
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
      >
        <RunOptionFields column={column} />
        <div className="flex justify-end">
          <Button onClick={() => setIsOpen(false)}>Done</Button>
        </div>
      </Dialog>
    </>
  );
}

function RunOptionFields({ column }: { readonly column: number }) {
  const [filters, set] = useFilters();
  const names = namesOf(column);
  const { [names.tier]: tier = '', [names.temperature]: temperature = '' } = filters;
  const number = Number(temperature);
  const isValid = temperature.trim() === '' || (number >= 0 && number <= 2);
  return (
    <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
      <SelectField
        label="Tier"
        hint="Each tier stands for a model. Settings say which."
        value={tier}
        options={TIER_OPTIONS}
        onChange={(value) => set({ [names.tier]: value })}
      />
      <TextField
        label="Temperature"
        hint="From 0 (the same each time) to 2 (very free). Empty: the model’s own."
        inputMode="decimal"
        value={temperature}
        error={isValid ? undefined : 'Enter a number from 0 to 2.'}
        onChange={(value) => set({ [names.temperature]: value })}
      />
    </div>
  );
}
