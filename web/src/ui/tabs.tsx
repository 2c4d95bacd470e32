import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { useShownInRow } from './shown-in-row.js';

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly content: () => ReactNode;
}

/** Parts of a view of which one is visible. The caller keeps the selected tab, best in the address. */
export function Tabs({
  label,
  tabs,
  selected,
  onSelect,
}: {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}) {
  const row = useShownInRow<HTMLDivElement>(selected);
  return (
    <Radix.Root value={selected} onValueChange={onSelect} className="flex min-w-0 flex-col gap-4">
      <Radix.List ref={row} aria-label={label} className="scrolling-row flex gap-1 overflow-x-auto border-b">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="border-b-2 border-transparent px-3 py-2 pointer-coarse:py-3 text-sm font-medium whitespace-nowrap text-muted-foreground hover:text-foreground data-[state=active]:border-primary data-[state=active]:text-foreground"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className="min-w-0">
          {tab.id === selected && tab.content()}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
