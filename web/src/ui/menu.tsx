import { DropdownMenu as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

interface MenuItem {
  readonly label: string;
  readonly onSelect: () => void;
}

/** A menu behind a button. @param trigger a `Button` */
export function Menu({ trigger, items }: { readonly trigger: ReactNode; readonly items: readonly MenuItem[] }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content align="end" sideOffset={4} className="z-50 min-w-40 rounded-md border bg-card p-1 shadow-lg">
          {items.map(({ label, onSelect }) => (
            <Radix.Item
              key={label}
              onSelect={onSelect}
              className="cursor-pointer rounded px-3 py-1.5 text-sm outline-none data-highlighted:bg-muted"
            >
              {label}
            </Radix.Item>
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
