import { cn } from './class-names.js';

/** The states of everything that Signalbox shows, each with a shape and a colour; `docs/console.md` explains them. */
export const STATES = {
  ready: { colour: 'bg-ready/12 text-ready', path: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Z' },
  running: { colour: 'bg-running/12 text-running', path: 'M4 2l10 6-10 6Z' },
  waiting: { colour: 'bg-waiting/12 text-waiting', path: 'M3 2h4v12H3ZM9 2h4v12H9Z' },
  failed: {
    colour: 'bg-failed/12 text-failed',
    path: 'M4 1.5L8 5.5l4-4L14.5 4l-4 4 4 4-2.5 2.5-4-4-4 4L1.5 12l4-4-4-4Z',
  },
  blocked: { colour: 'bg-blocked/12 text-blocked', path: 'M5 1h6l4 4v6l-4 4H5l-4-4V5ZM4 7v2h8V7Z' },
  off: {
    colour: 'bg-muted text-muted-foreground',
    path: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 2.2a3.8 3.8 0 1 1 0 7.6A3.8 3.8 0 0 1 8 4.2Z',
  },
} as const;

export type State = keyof typeof STATES;

/** The shape of a state, which tells it from the others where colours do not. The word beside it has the meaning. */
export function StateShape({ state, className }: { readonly state: State; readonly className?: string }) {
  return (
    <svg
      aria-hidden
      viewBox="0 0 16 16"
      data-state={state}
      className={cn('size-2.5 shrink-0', state === 'running' && 'motion-safe:animate-pulse', className)}
    >
      <path key={state} d={STATES[state].path} fill="currentColor" fillRule="evenodd" />
    </svg>
  );
}
