import { Command } from 'cmdk';
import { ChevronsUpDown } from 'lucide-react';
import { useId, useState } from 'react';
import { Button } from '../ui/button.js';
import { cn } from '../ui/class-names.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorMessage } from '../ui/states.js';
import { type ChoiceKind, useChoices, useChoicesById, useMayChoose } from './choices.js';

/**
 * A choice of one among many that the service searches: a connection, an agent, a key, a person. Callers who cannot
 * list them type the id.
 */
export function PickerField({
  label,
  kind,
  value,
  onChange,
  emptyLabel,
  hint,
  className,
}: {
  readonly label: string;
  readonly kind: ChoiceKind;
  /** An id; empty for none. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** What the field says while nothing is chosen, such as "Any connection". Also the choice that clears it. */
  readonly emptyLabel: string;
  readonly hint?: string;
  readonly className?: string;
}) {
  const id = useId();
  const [isOpen, setIsOpen] = useState(false);
  const may = useMayChoose(kind);
  const chosen = useChoicesById(kind, value === '' ? [] : [value]).get(value);
  if (!may) return null;
  const choose = (next: string): void => {
    onChange(next);
    setIsOpen(false);
  };
  return (
    <div className={cn('flex min-w-0 flex-col gap-1', className)}>
      <span id={`${id}-label`} className="text-sm font-medium">
        {label}
      </span>
      <Button
        variant="secondary"
        aria-labelledby={`${id}-label ${id}-value`}
        aria-describedby={hint ? `${id}-hint` : undefined}
        aria-haspopup="dialog"
        className="w-full justify-between font-normal"
        onClick={() => setIsOpen(true)}
      >
        <span id={`${id}-value`} className="truncate">
          {value === '' ? emptyLabel : (chosen?.label ?? value)}
        </span>
        <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-muted-foreground" />
      </Button>
      {hint && (
        <p id={`${id}-hint`} className="text-[0.8125rem] text-muted-foreground">
          {hint}
        </p>
      )}
      <Dialog title={label} isOpen={isOpen} onClose={() => setIsOpen(false)} className="top-24 translate-y-0">
        <Choices kind={kind} label={label} emptyLabel={emptyLabel} onChoose={choose} />
      </Dialog>
    </div>
  );
}

function Choices({
  kind,
  label,
  emptyLabel,
  onChoose,
}: {
  readonly kind: ChoiceKind;
  readonly label: string;
  readonly emptyLabel: string;
  readonly onChoose: (id: string) => void;
}) {
  const [text, setText] = useState('');
  const { query, choices, totalCount = 0 } = useChoices(kind, text, true);
  const item =
    'flex cursor-pointer justify-between gap-3 rounded px-3 py-1.5 text-sm data-[selected=true]:bg-accent ' +
    'data-[selected=true]:text-accent-foreground';
  return (
    <Command label={label} shouldFilter={false}>
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="Search by name"
        className="mb-2 w-full rounded-md border border-input bg-card px-3 py-1.5 placeholder:text-muted-foreground"
      />
      <Command.List className="max-h-80 overflow-y-auto" label={label}>
        {text === '' && (
          <Command.Item value="" onSelect={() => onChoose('')} className={item}>
            {emptyLabel}
          </Command.Item>
        )}
        {choices.map(({ id, label: name, note }) => (
          <Command.Item key={id} value={id} onSelect={() => onChoose(id)} className={item}>
            <span className="min-w-0 break-words">{name}</span>
            {note && <span className="shrink-0">{note}</span>}
          </Command.Item>
        ))}
      </Command.List>
      <p role="status" className="px-3 pt-2 text-sm text-muted-foreground">
        {query.isPending && 'Searching…'}
        {query.isSuccess && choices.length === 0 && 'Nothing found.'}
        {totalCount > choices.length && `${totalCount - choices.length} more: type a part of the name.`}
      </p>
      <ErrorMessage error={query.error} />
    </Command>
  );
}
