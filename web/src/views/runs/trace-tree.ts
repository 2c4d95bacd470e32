import type { Span } from './timeline.js';

/** A step of a run: a model call with its fallbacks, and what the model asked for. */
export interface Step {
  readonly number: number;
  readonly spans: readonly Span[];
  readonly start: number;
  readonly end: number;
  readonly isOpen: boolean;
}

/** What is outside of steps (waiting for the first worker), and the steps, in order. */
export type TraceNode = { readonly span: Span } | { readonly step: Step };

/**
 * Sorts the stretches of a run into steps. A step begins with its first model call. Approvals, waits and tool calls
 * belong to the step before them, also if another worker goes on with it.
 */
export function treeOf(spans: readonly Span[]): TraceNode[] {
  const before: Span[] = [];
  const steps: { number: number; spans: Span[] }[] = [];
  for (const span of spans) {
    const last = steps.at(-1);
    // A model call that has not ended has no record yet.
    const number = span.kind === 'model' ? (span.modelCall?.step ?? (last?.number ?? 0) + 1) : undefined;
    if (number !== undefined && number !== last?.number) steps.push({ number, spans: [span] });
    else (last?.spans ?? before).push(span);
  }
  return [
    ...before.map((span) => ({ span })),
    ...steps.map((step) => ({ step: { ...step, ...extentOf(step.spans) } })),
  ];
}

function extentOf(spans: readonly Span[]): Pick<Step, 'start' | 'end' | 'isOpen'> {
  return {
    start: Math.min(...spans.map(({ start }) => start)),
    end: Math.max(...spans.map(({ end }) => end)),
    isOpen: spans.some(({ isOpen }) => isOpen),
  };
}
