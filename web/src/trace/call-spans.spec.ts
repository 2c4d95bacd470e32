import { describe, expect, it } from '@jest/globals';
import type { ToolPart } from '../transcript/message.js';
import { callSpans } from './call-spans.js';
import type { CallRecord } from './span.js';
import type { ToolOrigins } from './tool-origins.js';

const record = (tool: string, args: unknown = null, connection = 'c'): CallRecord =>
  ({ id: tool, tool_name: tool, connection_id: connection, arguments: args, at: '2026-01-01T00:00:00Z' }) as CallRecord;
const part = (id: string, toolName: string, input: unknown = {}, state = 'output-available'): ToolPart =>
  ({ type: 'dynamic-tool', toolCallId: id, toolName, input, state }) as ToolPart;
const origin = (name: string, tool: string, connection = 'c') =>
  [name, { name, connection_id: connection, upstream_name: tool }] as const;

/** The ids of the parts that belong to the records. */
function matched(calls: readonly CallRecord[], parts: readonly ToolPart[], origins: ToolOrigins = new Map()) {
  return callSpans(calls, parts, origins).map((span) => span.part?.toolCallId);
}

describe('the record of a call and its part of the answer', () => {
  it('have the same name, or one with a prefix', () => {
    const parts = [part('1', 'first_echo'), part('2', 'echo')];
    expect(matched([record('echo'), record('echo'), record('echo')], parts)).toEqual(['2', '1', undefined]);
  });

  it('belong together under the name that the agent gives the tool', () => {
    const origins: ToolOrigins = new Map([origin('say', 'echo'), origin('add_two', 'sum')]);
    const parts = [part('1', 'say'), part('2', 'add_two'), part('3', 'say')];
    expect(matched([record('echo'), record('sum'), record('echo')], parts, origins)).toEqual(['1', '2', '3']);
    expect(matched([record('echo')], parts)).toEqual([undefined]);
  });

  it('are told apart where agents exchange names, and where connections have the same tool', () => {
    const exchanged: ToolOrigins = new Map([origin('echo', 'sum'), origin('sum', 'echo')]);
    expect(matched([record('echo'), record('sum')], [part('1', 'echo'), part('2', 'sum')], exchanged)).toEqual([
      '2',
      '1',
    ]);
    const two: ToolOrigins = new Map([origin('say', 'echo', 'c'), origin('shout', 'echo', 'd')]);
    const calls = [record('echo', null, 'd'), record('echo', null, 'c')];
    expect(matched(calls, [part('1', 'say'), part('2', 'shout')], two)).toEqual(['2', '1']);
  });

  it('are found by arguments, of which the agent can fix some', () => {
    const origins: ToolOrigins = new Map([origin('add', 'sum'), origin('add_two', 'sum')]);
    const parts = [part('1', 'add', { a: 1, b: 5 }), part('2', 'add_two', { b: 7 }), part('3', 'add', { a: 3, b: 5 })];
    const calls = [record('sum', { a: 3, b: 5 }), record('sum', { a: 2, b: 7 }), record('sum', { a: 1, b: 5 })];
    expect(matched(calls, parts, origins)).toEqual(['3', '2', '1']);
    const within = [part('1', 'add', { of: { x: 1 } }), part('2', 'add', { of: { x: 2 } })];
    expect(matched([record('sum', { of: { x: 2, y: 3 } })], within, origins)).toEqual(['2']);
  });

  it('are found by other orders of arguments, and not by arguments that are not on record', () => {
    const parts = [part('1', 'sum', { c: 1 }), part('2', 'sum', { b: 2, a: 1 }), part('3', 'sum', { of: {} })];
    const calls = [record('sum', { a: 1, b: 2 }), record('sum', { of: { x: 1 }, y: 2 }), record('sum', { a: 9 })];
    expect(matched(calls, parts)).toEqual(['2', '3', '1']);
    expect(matched([record('sum', { of: null })], [part('1', 'sum', { of: {} }), part('2', 'sum')])).toEqual(['2']);
  });

  it('are found among thousands whose arguments the agent has added to', () => {
    const ids = Array.from({ length: 5_000 }, (_, index) => `${index}`);
    const parts = ids.map((id) => part(id, 'sum', { of: { a: id } }));
    const calls = ids.toReversed().map((id) => record('sum', { of: { a: id, b: 5 }, c: 7 }));
    expect(matched(calls, parts)).toEqual(ids.toReversed());
  });

  it('are no pair if the call was denied', () => {
    expect(matched([record('echo')], [part('1', 'echo', {}, 'output-denied')])).toEqual([undefined]);
  });
});
