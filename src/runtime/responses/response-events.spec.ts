import { describe, expect, it } from '@jest/globals';
import type { UIMessageChunk } from 'ai';
import { DomainError } from '../../core/domain-error.js';
import { ResponseEvents } from './response-events.js';
import type { ResponseObject } from './response-object.js';

const RUN = '01a1fc0f-ac11-77b3-84e0-942cb7270dad';
const RESPONSE = { id: `resp_${RUN}`, model: 'agent', status: 'completed', output: [] } as unknown as ResponseObject;

interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly item_id?: string;
  readonly delta?: string;
  readonly text?: string;
  readonly item?: { readonly id: string; readonly status?: string };
}

interface ReaderOptions {
  readonly segment?: number;
  readonly startingAfter?: number;
  /** As it is stored at the end. */
  readonly response?: ResponseObject;
  /** Why it cannot be read at the end. */
  readonly failure?: Error;
}

/** The events that a reader gets for these chunks. */
async function eventsOf(
  chunks: readonly UIMessageChunk[],
  { segment = 0, startingAfter, response = RESPONSE, failure }: ReaderOptions = {},
): Promise<{ events: Event[]; ending: string; rounds: (number | undefined)[] }> {
  const rounds: (number | undefined)[] = [];
  const form = new ResponseEvents({
    runId: RUN,
    startingAfter,
    begin: () => Promise.resolve({ response: RESPONSE, segment }),
    read: (roundOf) => {
      rounds.push(roundOf(1), roundOf(2));
      return failure === undefined ? Promise.resolve(response) : Promise.reject(failure);
    },
    onAsk: () => undefined,
  });
  let text = await form.begin();
  for (const chunk of chunks) text += form.write(JSON.stringify(chunk));
  text += await form.end();
  const frames = text.split('\n\n').filter((frame) => frame !== '');
  const events = frames.slice(0, -1).map((frame) => JSON.parse(frame.replace(/^event: .*\ndata: /, '')) as Event);
  return { events, ending: frames.at(-1) ?? '', rounds };
}

const say = (id: string, ...deltas: string[]): UIMessageChunk[] => [
  { type: 'text-start', id },
  ...deltas.map((delta) => ({ type: 'text-delta' as const, id, delta })),
];
const call = (toolCallId: string): UIMessageChunk => ({
  type: 'tool-input-available',
  toolCallId,
  toolName: 'send',
  input: { to: 'Ann' },
  dynamic: true,
});
const approval = (approvalId: string, toolCallId: string): UIMessageChunk[] => [
  call(toolCallId),
  { type: 'tool-approval-request', approvalId, toolCallId },
];
const decision = (approvalId: string, toolCallId: string): UIMessageChunk[] => [
  { type: 'tool-approval-response', approvalId, approved: true },
  { type: 'tool-output-available', toolCallId, output: 'sent', dynamic: true },
];
const START: UIMessageChunk = { type: 'start-step' };

describe('the events of a response', () => {
  it('end a text that is taken back as incomplete, and begin a new item', async () => {
    const chunks: UIMessageChunk[] = [
      START,
      ...say('a', 'One ', 'tw'),
      { type: 'reset-step' },
      ...say('b', 'One ', 'two.'),
      { type: 'text-end', id: 'b' },
      { type: 'finish-step' },
    ];
    const { events, ending, rounds } = await eventsOf(chunks);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(done).toMatchObject([
      { id: `msg_${RUN}_1_0`, status: 'incomplete', content: [{ text: 'One tw' }] },
      { id: `msg_${RUN}_1_0r1`, status: 'completed', content: [{ text: 'One two.' }] },
    ]);
    for (const { type, item_id: id, text } of events) {
      if (type !== 'response.output_text.done') continue;
      const deltas = events.filter((event) => event.delta !== undefined && event.item_id === id);
      expect(deltas.map(({ delta }) => delta).join('')).toBe(text);
    }
    expect(ending).toBe('data: [DONE]');
    expect(rounds).toEqual([1, undefined]);
  });

  it('take back a text that was whole, too', async () => {
    const chunks: UIMessageChunk[] = [
      START,
      ...say('a', 'One.'),
      { type: 'text-end', id: 'a' },
      { type: 'reset-step' },
      { type: 'finish' },
    ];
    const { events } = await eventsOf(chunks);
    expect(events.filter(({ type }) => type === 'response.output_text.done')).toHaveLength(1);
    expect(events.find(({ type }) => type === 'response.output_item.done')?.item?.status).toBe('incomplete');
  });

  it('are of one answer only, if approvals divide those of the run', async () => {
    const chunks: UIMessageChunk[] = [
      START,
      ...say('a', 'May I?'),
      { type: 'text-end', id: 'a' },
      ...approval('approval', 'call'),
      { type: 'tool-approval-response', approvalId: 'approval', approved: true },
      { type: 'tool-output-available', toolCallId: 'call', output: 'sent', dynamic: true },
      { type: 'finish-step' },
      START,
      ...say('b', 'Done.'),
      { type: 'text-end', id: 'b' },
      { type: 'finish-step' },
    ];
    const itemsOf = async (segment: number) =>
      (await eventsOf(chunks, { segment })).events.flatMap(({ type, item }) =>
        type === 'response.output_item.done' ? [item] : [],
      );
    expect(await itemsOf(0)).toMatchObject([
      { id: `msg_${RUN}_1_0` },
      { id: 'mcpr_approval', type: 'mcp_approval_request', name: 'send', arguments: '{"to":"Ann"}' },
    ]);
    expect(await itemsOf(1)).toMatchObject([
      { id: `mcp_${RUN}_1_1`, approval_request_id: 'mcpr_approval', output: 'sent', arguments: '{"to":"Ann"}' },
      { id: `msg_${RUN}_2_0` },
    ]);
    const { events } = await eventsOf(chunks, { segment: 1 });
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });

  it.each([
    ['in one go', [...approval('one', 'a'), ...approval('two', 'b'), ...decision('one', 'a'), ...decision('two', 'b')]],
    [
      'with a new request after a decision',
      [...approval('old', 'a'), ...approval('one', 'b'), ...decision('one', 'b'), ...approval('two', 'a')],
    ],
  ])('are of one next answer, however many decisions a step has, %s', async (_, calls) => {
    const rest = [...decision('two', 'a'), { type: 'finish-step' } as const];
    const chunks = [START, ...calls, ...rest, START, ...say('c', 'Done.'), { type: 'text-end', id: 'c' } as const];
    const idsOf = async (segment: number) =>
      (await eventsOf(chunks, { segment })).events.flatMap(({ type, item }) =>
        type === 'response.output_item.done' ? [item?.id] : [],
      );
    expect(await idsOf(0)).toHaveLength(2);
    expect(await idsOf(1)).toContain(`msg_${RUN}_2_0`);
    expect(await idsOf(2)).toEqual([]);
  });

  it('send calls in the order in which the model has made them, after the texts of their step', async () => {
    const output = (toolCallId: string): UIMessageChunk => ({
      type: 'tool-output-available',
      toolCallId,
      output: toolCallId,
      dynamic: true,
    });
    const chunks: UIMessageChunk[] = [
      START,
      { type: 'tool-input-error', toolCallId: 'a', toolName: 'send', input: {}, errorText: 'No.', dynamic: true },
      call('b'),
      ...say('t', 'Wait.'),
      { type: 'text-end', id: 't' },
      call('c'),
      output('c'),
      output('b'),
      { type: 'finish-step' },
    ];
    const { events } = await eventsOf(chunks);
    const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item?.id] : []));
    expect(done).toEqual([`msg_${RUN}_1_2`, `mcp_${RUN}_1_0`, `mcp_${RUN}_1_1`, `mcp_${RUN}_1_3`]);
  });

  it('end with the calls that have not ended, and those that came after them', async () => {
    const output: UIMessageChunk = { type: 'tool-output-available', toolCallId: 'b', output: 'sent', dynamic: true };
    const ids = [`mcp_${RUN}_1_0`, `mcp_${RUN}_1_1`];
    const items = ids.map((id) => ({ type: 'mcp_call', id, arguments: '{}', status: 'incomplete' }));
    const response = { ...RESPONSE, status: 'cancelled', output: items } as unknown as ResponseObject;
    const { events } = await eventsOf([START, call('a'), call('b'), output], { response });
    const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []));
    expect(done).toEqual(items);
    expect(events.at(-1)?.type).toBe('response.incomplete');
  });

  it('begin the next answer again with a step that is taken back after its decision', async () => {
    const step = [...approval('one', 'a'), ...decision('one', 'a')];
    const chunks: UIMessageChunk[] = [START, ...step, { type: 'reset-step' }, ...step, { type: 'finish-step' }];
    const { events } = await eventsOf(chunks, { segment: 1 });
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(done).toMatchObject([{ id: `mcp_${RUN}_1_0` }, { id: `mcp_${RUN}_1_0r1` }]);
    expect(done.some((item) => item?.id.startsWith('mcpr_'))).toBe(false);
  });

  it.each(['queued', 'in_progress'] as const)('have no last one while the response is %s', async (status) => {
    const chunks: UIMessageChunk[] = [START, ...say('a', 'One ')];
    const { events, ending } = await eventsOf(chunks, { response: { ...RESPONSE, status } });
    expect(events.at(-1)?.type).toBe('response.content_part.added');
    expect(ending).toContain('response.output_text.delta');
  });

  it('end with an error if the response cannot be read, after which a reader comes back', async () => {
    const failure = new DomainError('answer_memory_exhausted', 'Retry shortly.');
    const { events } = await eventsOf([START, ...say('a', 'One ')], { failure });
    expect(events.at(-1)).toEqual({
      type: 'error',
      sequence_number: events.length - 2,
      code: 'answer_memory_exhausted',
      message: 'Retry shortly.',
      param: null,
    });
    const unexpected = eventsOf([START], { failure: new TypeError('Something is undefined.') });
    await expect(unexpected).rejects.toMatchObject({ code: 'internal' });
  });

  it('have thoughts as reasoning items', async () => {
    const chunks: UIMessageChunk[] = [
      START,
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'r' },
      ...say('a', 'Yes.'),
      { type: 'text-end', id: 'a' },
      { type: 'finish-step' },
    ];
    const { events } = await eventsOf(chunks);
    const ofThought = events.filter((event) => (event.item_id ?? event.item?.id) === `rs_${RUN}_1_0`);
    expect(ofThought.map(({ type }) => type)).toEqual([
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
    ]);
    expect(ofThought.at(-1)?.item).toMatchObject({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
    });
  });

  it('are the same for a reader that comes back after any of them', async () => {
    const chunks: UIMessageChunk[] = [START, ...say('a', '1', '2'), { type: 'reset-step' }, ...say('b', '3')];
    const { events } = await eventsOf(chunks);
    for (const startingAfter of events.keys()) {
      expect((await eventsOf(chunks, { startingAfter })).events).toEqual(events.slice(startingAfter + 1));
    }
  });
});
