import { describe, expect, it } from '@jest/globals';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { chatStream } from '../../support/chat-stream.js';
import { eventually } from '../../support/eventually.js';
import { newTenant } from '../../support/tenant.js';
import { TOOLS, useApprovalsApp } from '../approvals/approvals.support.js';
import { expectPublishedShapes, faultsIn } from './checked-fetch.js';
import { faultOf } from './published-shapes.js';
import { collect, finalOf, openAiClient } from './responses.support.js';

const own = useApprovalsApp(newTenant);
expectPublishedShapes();

/** The answer to what was scripted. Its events are checked as they come. */
async function ask(): Promise<AsyncIterable<ResponseStreamEvent>> {
  const agentId = await own.createAgent('none', { tier: 'thinking' });
  return openAiClient(own.app).responses.create({ model: agentId, input: 'go', stream: true });
}

/** The statuses of the calls that are stored so far. */
async function statusesOf(id: string): Promise<unknown[]> {
  const { output } = await openAiClient(own.app).responses.retrieve(id);
  return output.flatMap((item) => (item.type === 'mcp_call' ? [item.status] : []));
}

const eventsOf = async (): Promise<ResponseStreamEvent[]> => collect(await ask());

describe('the events of a response', () => {
  it('are as published for thoughts', async () => {
    own.model.script(
      chatStream([{ reasoning_content: 'Let me ' }, { reasoning_content: 'see.' }, { content: 'Yes.' }], 'stop'),
    );
    const final = finalOf(await eventsOf());
    expect(final.output).toMatchObject([
      { type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text: 'Let me see.' }] },
      { type: 'message', content: [{ text: 'Yes.' }] },
    ]);
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('are as published for an answer that ends because of its %s', async (cause, reason) => {
    own.model.script(chatStream([{ content: 'Once upon' }], cause));
    const events = await eventsOf();
    expect(events.at(-1)?.type).toBe('response.incomplete');
    expect(finalOf(events)).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
  });

  it('are as published for a call that fails', async () => {
    own.model.script(
      { kind: 'tool-calls', calls: [{ name: 'nothing', arguments: {} }] },
      { kind: 'text', deltas: ['Sorry.'] },
    );
    const final = finalOf(await eventsOf());
    expect(final.output).toMatchObject([
      { type: 'mcp_call', name: 'nothing', status: 'failed', output: null, error: { content: [{ type: 'text' }] } },
      { type: 'message', content: [{ text: 'Sorry.' }] },
    ]);
  });

  it('have the items of the response for calls that end in another order', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    own.upstream.tools['put'] = { ...TOOLS.put, handler: () => released.then(() => 'put done') };
    const calls = ['put', 'look'].map((name) => ({ name, arguments: {} }));
    own.model.script({ kind: 'tool-calls', calls }, { kind: 'text', deltas: ['Both.'] });
    const events: ResponseStreamEvent[] = [];
    for await (const event of await ask()) {
      events.push(event);
      if (event.type !== 'response.in_progress') continue;
      const { id } = event.response;
      await eventually(async () => expect(await statusesOf(id)).toEqual(['incomplete', 'completed']));
      release();
    }
    const names = finalOf(events).output.map((item) => ('name' in item ? item.name : item.type));
    expect(names).toEqual(['put', 'look', 'message']);
    const stored = await openAiClient(own.app).responses.retrieve(finalOf(events).id);
    expect(stored.output).toEqual(finalOf(events).output);
  });
});

describe('the check of events', () => {
  it('finds a member too many, one of the wrong type, and one that is absent', async () => {
    own.model.script({ kind: 'text', deltas: ['One ', 'two.'] });
    for (const event of await eventsOf()) {
      expect(faultOf('event', event)).toBeUndefined();
      expect(faultOf('event', { ...event, more: 1 })).toContain('additional properties');
      expect(faultOf('event', { ...event, sequence_number: 'one' })).toContain('must be integer');
      for (const name of Object.keys(event)) {
        expect(
          faultOf('event', { ...event, [name]: undefined, ...(name === 'type' && { type: 'other' }) }),
        ).toBeDefined();
      }
    }
  });

  it('finds an event that is missing, sent twice, or of another text', async () => {
    own.model.script({ kind: 'text', deltas: ['One ', 'two.'] });
    const events = await eventsOf();
    expect(faultsIn(events)).toEqual([]);
    const numbered = (changed: ResponseStreamEvent[]) =>
      changed.map((event, index) => ({ ...event, sequence_number: index }));
    for (const index of events.slice(2).keys()) {
      expect(faultsIn(events.toSpliced(index + 1, 1))).not.toEqual([]);
      expect(faultsIn(events.toSpliced(index, 0, events[index] as ResponseStreamEvent))).not.toEqual([]);
    }
    const at = events.findIndex(({ type }) => type === 'response.output_text.delta');
    expect(faultsIn(numbered(events.toSpliced(at, 1)))).toEqual([expect.stringContaining('are not its text')]);
  });
});
