import { isDeepStrictEqual } from 'node:util';
import { afterEach, expect } from '@jest/globals';
import type OpenAI from 'openai';
import { faultOf, type ShapeName } from './published-shapes.js';

type Event = OpenAI.Responses.ResponseStreamEvent;
type Item = OpenAI.Responses.ResponseOutputItem;

const faults: string[] = [];

/**
 * Fails a test if anything that a client with `checkedFetch` got in it is not as published. Clients would take it, or
 * hide the fault behind an error of their own.
 */
export function expectPublishedShapes(): void {
  afterEach(() => expect(faults.splice(0)).toEqual([]));
}

/** `fetch`, which checks every answer of `/v1`. What the client gets is not changed. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { body, headers } = response;
  if (headers.get('content-type')?.startsWith('text/event-stream') === true && body !== null) {
    return new Response(body.pipeThrough(new EventCheck()), response);
  }
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  const text = await response.text();
  const shape = response.ok ? shapeAt(pathname, init?.method ?? 'GET') : 'error';
  note(faultOf(shape, JSON.parse(text)));
  return new Response(text, response);
};

function note(fault: string | undefined): void {
  if (fault !== undefined) faults.push(fault);
}

function shapeAt(path: string, method: string): ShapeName {
  if (path.endsWith('/models')) return 'models';
  if (path.includes('/models/')) return 'model';
  if (path.endsWith('/input_items')) return 'inputItems';
  return method.toUpperCase() === 'DELETE' ? 'deleted' : 'response';
}

/** Checks the events that pass, each of them and how they follow each other. */
class EventCheck extends TransformStream<Uint8Array, Uint8Array> {
  constructor() {
    const decoder = new TextDecoder();
    const events: Event[] = [];
    let rest = '';
    super({
      transform: (bytes, controller) => {
        const frames = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
        rest = frames.pop() ?? '';
        events.push(...frames.flatMap(eventIn));
        // The client reads no further.
        if (frames.includes('data: [DONE]')) faultsIn(events).forEach(note);
        controller.enqueue(bytes);
      },
    });
  }
}

/** The event of a frame, whose name is its type. Comments and the end have none. */
function eventIn(frame: string): Event[] {
  const lines = frame.split('\n');
  const [name, data] = ['event: ', 'data: '].map((field) =>
    lines.find((line) => line.startsWith(field))?.slice(field.length),
  );
  if (data === undefined || data === '[DONE]') return [];
  const event = JSON.parse(data) as Event;
  note(name === event.type ? undefined : `The frame of ${event.type} is called ${name}.`);
  note(faultOf('event', event));
  return [event];
}

/**
 * What is wrong with the order of events that were read to the end of their stream: their numbers have no gap, an item
 * begins, grows and ends in one place, its deltas are its text, and the response has the items that have ended.
 */
export function faultsIn(events: readonly Event[]): string[] {
  const found: string[] = [];
  const [first] = events;
  for (const [index, event] of events.entries()) {
    const expected = (first?.sequence_number ?? 0) + index - (event.type === 'error' ? 1 : 0);
    if (event.sequence_number !== expected) found.push(`${event.type} has the number ${event.sequence_number}.`);
  }
  // The rest of a stream has ends without beginnings.
  if (first?.type !== 'response.created') return found;
  if (events[1]?.type !== 'response.in_progress') found.push(`The second event is ${events[1]?.type}.`);
  const open = new Map<string, { index: number; text: string }>();
  const done: Item[] = [];
  let added = 0;
  for (const event of events) {
    if (event.type === 'response.output_item.added') {
      if (event.output_index !== added++) found.push(`Item ${added} has the place ${event.output_index}.`);
      open.set(idOf(event.item), { index: event.output_index, text: '' });
    } else if ('item_id' in event || event.type === 'response.output_item.done') {
      const id = 'item_id' in event ? event.item_id : idOf(event.item);
      const item = open.get(id);
      if (item === undefined || item.index !== event.output_index) found.push(`${event.type} is about no open item.`);
      else if ('delta' in event && typeof event.delta === 'string') item.text += event.delta;
      else if (event.type === 'response.output_item.done') {
        if (item.text !== textOf(event.item)) found.push(`The deltas of ${id} are not its text.`);
        open.delete(id);
        done.push(event.item);
      }
    }
  }
  const last = events.at(-1);
  if (last === undefined || !('response' in last) || last === first || last.type === 'response.in_progress')
    return found;
  if (open.size > 0) found.push(`${[...open.keys()].join()} did not end.`);
  // Items that a step has taken back have ended as incomplete, and are not part of the response.
  const kept = done.filter((item) => !isIncomplete(item) || last.response.output.some(({ id }) => id === item.id));
  if (!isDeepStrictEqual(kept, last.response.output)) found.push(`The response has other items than its events.`);
  return found;
}

function idOf(item: Item): string {
  return item.id ?? '';
}

function isIncomplete(item: Item): boolean {
  return 'status' in item && item.status === 'incomplete';
}

/** What the deltas of an item make. Requests for approvals have none. */
function textOf(item: Item): string {
  if (item.type === 'message') return item.content.map((part) => ('text' in part ? part.text : '')).join('');
  if (item.type === 'reasoning') return item.summary.map(({ text }) => text).join('');
  return item.type === 'mcp_call' ? item.arguments : '';
}
