import { Plus, X } from 'lucide-react';
import { Button } from '../../../ui/button.js';
import { TextField } from '../../../ui/field.js';
import type { Pair } from './connection-draft.js';

/** Rows of names and secret values: headers, or variables. A stored value is shown as `***`, which keeps it. */
export function PairFields({
  label,
  noun,
  hint,
  pairs,
  onChange,
}: {
  readonly label: string;
  /** What one row is, such as "header". */
  readonly noun: string;
  readonly hint: string;
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: readonly Pair[]) => void;
}) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="text-sm font-medium">{label}</legend>
      <p className="text-[0.8125rem] text-muted-foreground">{hint}</p>
      {pairs.map((pair, index) => (
        <div key={index} className="flex items-start gap-2">
          <TextField
            label={`Name of ${noun} ${index + 1}`}
            isLabelHidden
            placeholder="Name"
            autoComplete="off"
            className="min-w-0 flex-1"
            value={pair.name}
            onChange={(name) => onChange(pairs.with(index, { ...pair, name }))}
          />
          <TextField
            label={`Value of ${noun} ${index + 1}`}
            isLabelHidden
            placeholder="Value"
            autoComplete="off"
            className="min-w-0 flex-1"
            value={pair.value}
            onChange={(value) => onChange(pairs.with(index, { ...pair, value }))}
          />
          <Button
            variant="ghost"
            size="icon"
            aria-label={`Remove ${noun} ${pair.name || index + 1}`}
            onClick={() => onChange(pairs.toSpliced(index, 1))}
          >
            <X aria-hidden className="size-4" />
          </Button>
        </div>
      ))}
      <div>
        <Button variant="secondary" size="small" onClick={() => onChange([...pairs, { name: '', value: '' }])}>
          <Plus aria-hidden className="size-3.5" /> Add {noun}
        </Button>
      </div>
    </fieldset>
  );
}
