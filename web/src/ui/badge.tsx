import type { ReactNode } from 'react';
import { cn } from './class-names.js';
import { type State, STATES, StateShape } from './state.js';

const FORM = 'inline-flex items-center rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap';

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
  return <span className={cn(FORM, TONES[tone])}>{children}</span>;
}

const STATUS_STATES: Readonly<Record<string, State>> = {
  active: 'ready',
  completed: 'ready',
  success: 'ready',
  delivered: 'ready',
  running: 'running',
  in_progress: 'running',
  queued: 'waiting',
  pending: 'waiting',
  invited: 'waiting',
  waiting: 'waiting',
  denied: 'blocked',
  error: 'failed',
  failed: 'failed',
};

const STATUS_WORDS: Readonly<Record<string, string>> = { in_progress: 'in progress', waiting: 'waiting for approval' };

/** The state of a run, a thread, a connection, a call or a delivery. */
export function StatusBadge({ status }: { readonly status: string }) {
  return <StateBadge state={STATUS_STATES[status] ?? 'off'}>{STATUS_WORDS[status] ?? status}</StateBadge>;
}

/** A word with the shape and the colour of a state. */
export function StateBadge({ state, children }: { readonly state: State; readonly children: ReactNode }) {
  return (
    <span className={cn(FORM, 'gap-1.5', STATES[state].colour)}>
      <StateShape state={state} />
      {children}
    </span>
  );
}
