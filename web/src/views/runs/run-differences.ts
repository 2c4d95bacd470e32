import type { Span } from '../../trace/span.js';
import type { Step } from '../../trace/trace-tree.js';

/** A number of two runs. */
interface Change {
  readonly difference: number;
  /** Of the first run's number; undefined if that is zero. */
  readonly percent: number | undefined;
}

/** How the second number differs from the first; undefined if they are equal, or one is not known. */
export function changeOf(a: number | null | undefined, b: number | null | undefined): Change | undefined {
  if (typeof a !== 'number' || typeof b !== 'number' || a === b) return undefined;
  return { difference: b - a, percent: a === 0 ? undefined : Math.round(((b - a) / Math.abs(a)) * 100) };
}

/** The same step of two runs; undefined for a run that did not get so far. */
export interface StepPair {
  readonly number: number;
  readonly a: Step | undefined;
  readonly b: Step | undefined;
  /**
   * Whether both asked for the same: equal tools with equal arguments, in the same order. Undefined if the arguments of
   * a call are not known.
   */
  readonly isSame: boolean | undefined;
}

export function pairsOf(a: readonly Step[], b: readonly Step[]): StepPair[] {
  const numbers = new Set([...a, ...b].map(({ number }) => number));
  return [...numbers]
    .toSorted((one, other) => one - other)
    .map((number) => {
      const of = (steps: readonly Step[]) => steps.find((step) => step.number === number);
      const pair = { number, a: of(a), b: of(b) };
      return { ...pair, isSame: pair.a !== undefined && pair.b !== undefined && areSame(pair.a, pair.b) };
    });
}

function areSame(a: Step, b: Step): boolean | undefined {
  const isKnown = [...callsOf(a), ...callsOf(b)].every((call) => argumentsOf(call) !== undefined);
  return isKnown ? didOf(a) === didOf(b) : undefined;
}

/** What a step did, without its times: waits and repetitions do not count. */
function didOf(step: Step): string {
  return JSON.stringify(callsOf(step).map((call) => [call.label, argumentsOf(call), call.outcome]));
}

function callsOf({ spans }: Step): Span[] {
  return spans.filter(({ kind }) => kind === 'tool');
}

/** Undefined while the answer is not read, unless the record of calls has them. */
function argumentsOf({ part, toolCall }: Span): unknown {
  return part?.input ?? toolCall?.arguments ?? undefined;
}

/** A tool as a recorded call has it: equal hashes are equal texts. */
interface HashedTool {
  readonly name: string;
  readonly description: { readonly hash: string };
  readonly input_schema: { readonly hash: string };
}

/** The names of tools that only one of two calls had, and of those that both had with another definition. */
export function toolDifferences(a: readonly HashedTool[], b: readonly HashedTool[]) {
  const byName = new Map(a.map((tool) => [tool.name, tool]));
  const names = new Set(b.map(({ name }) => name));
  const isOther = (tool: HashedTool): boolean => {
    const before = byName.get(tool.name);
    if (before === undefined) return false;
    const { description, input_schema: schema } = tool;
    return before.description.hash !== description.hash || before.input_schema.hash !== schema.hash;
  };
  return {
    added: b.filter(({ name }) => !byName.has(name)).map(({ name }) => name),
    removed: a.filter(({ name }) => !names.has(name)).map(({ name }) => name),
    changed: b.filter(isOther).map(({ name }) => name),
  };
}
