import type { Span } from './span.js';

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
    const number = span.kind === 'model' ? (span.modelCall?.step ?? nextNumber(last)) : undefined;
    // The clocks of two workers can differ by more than a step took.
    const known = number === undefined ? last : steps.find((step) => step.number === number);
    if (known !== undefined) known.spans.push(span);
    else if (number === undefined) before.push(span);
    else steps.push({ number, spans: [span] });
  }
  return [
    ...before.map((span) => ({ span })),
    ...steps.map((step) => ({ step: { ...step, ...extentOf(step.spans) } })),
  ];
}

/** The step of a model call that has not ended and has no record yet: the same one again if its last call failed. */
function nextNumber(last: { readonly number: number; readonly spans: readonly Span[] } | undefined): number {
  if (last === undefined) return 1;
  const call = last.spans.findLast(({ modelCall }) => modelCall !== undefined)?.modelCall;
  return call !== undefined && call.error_code !== null ? last.number : last.number + 1;
}

function extentOf(spans: readonly Span[]): Pick<Step, 'start' | 'end' | 'isOpen'> {
  return {
    start: Math.min(...spans.map(({ start }) => start)),
    end: Math.max(...spans.map(({ end }) => end)),
    isOpen: spans.some(({ isOpen }) => isOpen),
  };
}
