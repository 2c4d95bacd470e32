import type { ToolPart } from '../transcript/message.js';

/** A call of the answer. */
export interface OpenCall {
  readonly part: ToolPart;
  /** Among the calls of the answer. */
  readonly place: number;
  /** A record was matched with it. */
  isTaken: boolean;
}

type Arguments = Readonly<Record<string, unknown>>;

/** The models of a run call a tool with few sets of arguments; matching with more would take too long. */
const MAX_SHAPES = 50;

/**
 * The calls of an answer under one name, from which those are found that are not taken, the first ones first. It takes
 * no longer to find one among many.
 */
export class OpenCalls {
  private readonly all: Queue;
  private readonly byInput: ReadonlyMap<string, Queue>;
  /** One call of each set of names that arguments have, at every depth. */
  private readonly shapes: readonly Arguments[];

  constructor(calls: readonly OpenCall[]) {
    this.all = new Queue(calls);
    const groups = Map.groupBy(calls, ({ part }) => textOf(part.input));
    this.byInput = new Map([...groups].map(([input, group]) => [input, new Queue(group)]));
    const shapes = new Map<string, Arguments>();
    for (const { part } of calls) if (isObject(part.input)) shapes.set(shapeOf(part.input), part.input);
    this.shapes = [...shapes.values()].slice(0, MAX_SHAPES);
  }

  first(): OpenCall | undefined {
    return this.all.first();
  }

  /** The first call with these arguments, in this order. */
  withArguments(recorded: unknown): OpenCall | undefined {
    return this.byInput.get(textOf(recorded))?.first();
  }

  /** The first call whose arguments are all among these. There can be more of them, which the agent fixes. */
  within(recorded: unknown): OpenCall | undefined {
    if (!isObject(recorded)) return undefined;
    return firstOf(this.shapes.map((shape) => this.withArguments(selectFrom(recorded, shape))));
  }
}

/** The call that comes first in the answer. */
export function firstOf(calls: readonly (OpenCall | undefined)[]): OpenCall | undefined {
  return calls.reduce(
    (first, call) => (first === undefined || (call !== undefined && call.place < first.place) ? call : first),
    undefined,
  );
}

class Queue {
  private next = 0;

  constructor(private readonly calls: readonly OpenCall[]) {}

  first(): OpenCall | undefined {
    while (this.calls[this.next]?.isTaken) this.next++;
    return this.calls[this.next];
  }
}

/** The arguments that have the names of the others, in the order of the others. */
function selectFrom(recorded: Arguments, others: Arguments): Arguments {
  return Object.fromEntries(
    Object.entries(others).map(([name, other]) => {
      const value = recorded[name];
      return [name, isObject(value) && isObject(other) ? selectFrom(value, other) : value];
    }),
  );
}

function shapeOf(value: unknown): string {
  return isObject(value)
    ? `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}${shapeOf(member)}`)}}`
    : '';
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

function isObject(value: unknown): value is Arguments {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
