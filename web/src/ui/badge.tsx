import type { ReactNode } from 'react';
import { cn } from './class-names.js';

const TONES = {
  neutral: 'bg-muted text-muted-foreground',
  info: 'bg-accent text-accent-foreground',
  success: 'bg-success/12 text-success',
  warning: 'bg-warning/12 text-warning',
  danger: 'bg-destructive/12 text-destructive',
} as const;

export type Tone = keyof typeof TONES;

/** A short word with a colour; the word alone carries the meaning. */
export function Badge({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span
      className={cn(
        'inline-flex items-center rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  active: 'success',
  completed: 'success',
  success: 'success',
  delivered: 'success',
  running: 'info',
  in_progress: 'info',
  queued: 'neutral',
  pending: 'neutral',
  inactive: 'neutral',
  cancelled: 'neutral',
  invited: 'neutral',
  waiting: 'warning',
  denied: 'warning',
  error: 'danger',
  failed: 'danger',
};

const STATUS_WORDS: Readonly<Record<string, string>> = { in_progress: 'in progress', waiting: 'waiting for approval' };

/** The state of a run, a thread, a connection, a call or a delivery. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <Badge tone={STATUS_TONES[status] ?? 'neutral'}>{STATUS_WORDS[status] ?? status}</Badge>;
}
