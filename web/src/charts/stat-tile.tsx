import type { ReactNode } from 'react';
import { cn } from '../ui/class-names.js';

/** One figure with its name. */
export function StatTile({
  label,
  value,
  note,
  isBad,
}: {
  readonly label: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  readonly isBad?: boolean;
}) {
  return (
    <div className="flex min-w-0 flex-col rounded-lg border bg-card px-4 py-3">
      <dt className="text-[0.8125rem] text-muted-foreground">{label}</dt>
      <dd className={cn('text-2xl font-semibold tabular-nums', isBad && 'text-destructive')}>{value}</dd>
      {note && <dd className="text-[0.8125rem] text-muted-foreground">{note}</dd>}
    </div>
  );
}
