import type { MessagePart, ToolPart } from '../transcript/message.js';
import type { CallRecord, Span } from './span.js';
import type { ToolOrigins } from './tool-origins.js';

/** A call of the answer that no record was matched with yet. */
interface Unmatched {
  readonly part: ToolPart;
  /** Among the calls of the answer. */
  readonly place: number;
  readonly input: string | undefined;
}

/**
 * The calls with their parts of the answer. A record has the upstream's name of the tool, and a part the agent's, which
 * can be another one. Of several calls of a tool, those with the recorded arguments come first, then those whose
 * arguments the agent has added to, then the order of the parts.
 * @param origins of the agent's current tools; a call of a tool that had another name then is matched by its name, with
 *   or without a prefix
 */
export function callSpans(calls: readonly CallRecord[], parts: readonly MessagePart[], origins: ToolOrigins): Span[] {
  // A call that was denied has no record.
  const called = parts.filter((part) => part.type === 'dynamic-tool').filter(({ state }) => state !== 'output-denied');
  const open = Map.groupBy(
    called.map((part, place): Unmatched => ({ part, place, input: JSON.stringify(part.input) })),
    ({ part }) => part.toolName,
  );
  return calls.map((call) => {
    const made = partOf(call, candidatesOf(call, open, origins));
    if (made === undefined) return callSpan(call, undefined);
    const ofName = open.get(made.part.toolName) ?? [];
    ofName.splice(ofName.indexOf(made), 1);
    return callSpan(call, made.part);
  });
}

/** The parts that the call can be, by the origins of their tools, otherwise by their names. */
function candidatesOf(
  { tool_name: tool, connection_id: connection }: CallRecord,
  open: ReadonlyMap<string, readonly Unmatched[]>,
  origins: ToolOrigins,
): readonly Unmatched[] {
  const of = (isOf: (name: string) => boolean): readonly Unmatched[] => {
    const groups = [...open].flatMap(([name, group]) => (group.length > 0 && isOf(name) ? [group] : []));
    return groups.length === 1 ? (groups[0] ?? []) : groups.flat().sort((a, b) => a.place - b.place);
  };
  const known = of((name) => {
    const origin = origins.get(name);
    return origin?.upstream_name === tool && origin.connection_id === connection;
  });
  if (known.length > 0) return known;
  const exact = of((name) => name === tool);
  return exact.length > 0 ? exact : of((name) => name.endsWith(`_${tool}`));
}

function partOf({ arguments: args }: CallRecord, candidates: readonly Unmatched[]): Unmatched | undefined {
  const recorded = JSON.stringify(args);
  return (
    candidates.find(({ input }) => input === recorded) ??
    (isObject(args) ? candidates.find(({ part }) => isWithin(part.input, args)) : undefined) ??
    candidates[0]
  );
}

/** Whether the record has all arguments of the model. It can have more, which the agent fixes. */
function isWithin(input: unknown, recorded: Readonly<Record<string, unknown>>): boolean {
  if (!isObject(input)) return false;
  return Object.entries(input).every(([name, value]) => {
    const known = recorded[name];
    return isObject(known) ? isWithin(value, known) : JSON.stringify(known) === JSON.stringify(value);
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function callSpan(call: CallRecord, part: ToolPart | undefined): Span {
  const start = Date.parse(call.at);
  const note = [call.connection_title, call.error_code].filter(Boolean).join(' · ');
  return {
    id: call.id,
    kind: 'tool',
    label: call.tool_name,
    start,
    end: start + call.duration_ms,
    isOpen: false,
    outcome: call.status,
    toolCall: call,
    ...(part && { part }),
    ...(note && { note }),
  };
}
