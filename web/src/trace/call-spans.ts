import type { MessagePart, ToolPart } from '../transcript/message.js';
import { firstOf, type OpenCall, OpenCalls } from './open-calls.js';
import type { CallRecord, Span } from './span.js';
import type { ToolOrigins } from './tool-origins.js';

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
  const byName = Map.groupBy(
    called.map((part, place): OpenCall => ({ part, place, isTaken: false })),
    ({ part }) => part.toolName,
  );
  const open = new Map([...byName].map(([name, group]) => [name, new OpenCalls(group)]));
  return calls.map((call) => {
    const made = callOf(call, candidatesOf(call, open, origins));
    if (made !== undefined) made.isTaken = true;
    return callSpan(call, made?.part);
  });
}

/** The calls of the answer among which the recorded one is, by the origins of their tools, otherwise by their names. */
function candidatesOf(
  { tool_name: tool, connection_id: connection }: CallRecord,
  open: ReadonlyMap<string, OpenCalls>,
  origins: ToolOrigins,
): readonly OpenCalls[] {
  const of = (isOf: (name: string) => boolean): readonly OpenCalls[] =>
    [...open].flatMap(([name, group]) => (isOf(name) && group.first() !== undefined ? [group] : []));
  const known = of((name) => {
    const origin = origins.get(name);
    return origin?.upstream_name === tool && origin.connection_id === connection;
  });
  if (known.length > 0) return known;
  const exact = of((name) => name === tool);
  return exact.length > 0 ? exact : of((name) => name.endsWith(`_${tool}`));
}

function callOf({ arguments: args }: CallRecord, candidates: readonly OpenCalls[]): OpenCall | undefined {
  return (
    firstOf(candidates.map((calls) => calls.withArguments(args))) ??
    firstOf(candidates.map((calls) => calls.within(args))) ??
    firstOf(candidates.map((calls) => calls.first()))
  );
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
