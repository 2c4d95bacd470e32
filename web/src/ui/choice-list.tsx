import { Command } from 'cmdk';
import type { ReactNode } from 'react';

interface ListedChoice {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
}

const ITEM =
  'flex cursor-pointer justify-between gap-3 rounded px-3 py-1.5 text-sm data-[selected=true]:bg-accent ' +
  'data-[selected=true]:text-accent-foreground';

/** A search box with the choices that were found, for arrow keys and Enter. */
export function ChoiceList({
  label,
  text,
  onText,
  choices,
  onChoose,
  children,
}: {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly choices: readonly ListedChoice[];
  readonly onChoose: (id: string) => void;
  /** How the search went. */
  readonly children: ReactNode;
}) {
  return (
    <Command label={label} shouldFilter={false}>
      <Command.Input
        value={text}
        onValueChange={onText}
        placeholder="Search by name"
        className="mb-2 w-full rounded-md border border-input bg-card px-3 py-1.5 placeholder:text-muted-foreground"
      />
      <Command.List className="max-h-80 overflow-y-auto" label={label}>
        {choices.map(({ id, label: name, note }) => (
          <Command.Item key={id} value={id} onSelect={() => onChoose(id)} className={ITEM}>
            <span className="min-w-0 break-words">{name}</span>
            {note && <span className="shrink-0">{note}</span>}
          </Command.Item>
        ))}
      </Command.List>
      <p role="status" className="px-3 pt-2 text-sm text-muted-foreground">
        {children}
      </p>
    </Command>
  );
}
