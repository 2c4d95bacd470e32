import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { ThreadClient } from '../../support/agent-runs.js';
import { collect, finalOf, taskIdOf, useResponses } from './responses.support.js';

const own = useResponses();

const begin = (input: string) => own.openai.responses.create({ model: own.agentId, input });
const goOn = (previous: { id: string }, input: string | OpenAI.Responses.ResponseInput) =>
  own.openai.responses.create({ previous_response_id: previous.id, input });

/** The questions of the thread of a response, in their order. */
async function questionsOf(response: OpenAI.Responses.Response): Promise<unknown[]> {
  const messages = await new ThreadClient(own.app, own.agentId, response.conversation?.id ?? '').messages();
  return messages.flatMap(({ role, parts }) => (role === 'user' ? [(parts[0] as { text?: string }).text] : []));
}

describe('a response that continues another one', () => {
  it('is on the same thread, and names the other one whenever it is read', async () => {
    const first = await begin('one');
    const second = await goOn(first, 'two');
    expect(second).toMatchObject({ conversation: first.conversation, previous_response_id: first.id });
    expect(await own.openai.responses.retrieve(second.id)).toEqual(second);
    expect(await questionsOf(second)).toEqual(['one', 'two']);
  });

  it('is on a copy of the thread if that has gone on', async () => {
    const first = await begin('one');
    const second = await goOn(first, 'two');
    const other = await goOn(first, 'three');
    expect(other.conversation).not.toEqual(first.conversation);
    expect(other.previous_response_id).toBe(first.id);
    expect(await questionsOf(other)).toEqual(['one', 'three']);
    expect(await questionsOf(second)).toEqual(['one', 'two']);
    const next = await goOn(other, 'four');
    expect(next.conversation).toEqual(other.conversation);
    expect(await questionsOf(next)).toEqual(['one', 'three', 'four']);
  });

  it('has a thread of its own if several continue the same one at once, streamed or not', async () => {
    const first = await begin('one');
    const streamed = own.openai.responses.create({ previous_response_id: first.id, input: 'c', stream: true });
    const all = await Promise.all([goOn(first, 'a'), goOn(first, 'b'), streamed.then(collect).then(finalOf)]);
    expect(new Set(all.map(({ conversation }) => conversation?.id)).size).toBe(3);
    expect(await Promise.all(all.map(questionsOf))).toEqual([
      ['one', 'a'],
      ['one', 'b'],
      ['one', 'c'],
    ]);
  });

  it('has a thread of its own if several continue the same one at once, in the background or not', async () => {
    const first = await begin('one');
    const inBackground = (input: string) =>
      own.openai.responses.create({ previous_response_id: first.id, input, background: true });
    const all = await Promise.all([goOn(first, 'a'), inBackground('b'), goOn(first, 'c'), inBackground('d')]);
    expect(all.map(({ background }) => background)).toEqual([false, true, false, true]);
    expect(new Set(all.map(({ conversation }) => conversation?.id)).size).toBe(4);
    expect(await Promise.all(all.map(questionsOf))).toEqual([
      ['one', 'a'],
      ['one', 'b'],
      ['one', 'c'],
      ['one', 'd'],
    ]);
  });

  it('cannot continue one that is not over', async () => {
    const begun = await own.openai.responses.create({ model: own.agentId, input: '/wait 600000', background: true });
    await expect(goOn(begun, 'two')).rejects.toMatchObject({
      status: 409,
      code: 'thread_busy',
      param: 'previous_response_id',
    });
    await own.openai.responses.cancel(begun.id);
    expect((await goOn(begun, 'two')).conversation).toEqual(begun.conversation);
  });

  it('is continued with a conversation by whoever has only that', async () => {
    const first = await begin('one');
    const second = await own.openai.responses.create({
      conversation: { id: first.conversation?.id ?? '' },
      input: 'two',
    });
    expect(second).toMatchObject({ conversation: first.conversation, previous_response_id: null });
    const both = own.openai.responses.create({
      conversation: first.conversation?.id ?? '',
      previous_response_id: second.id,
      input: 'x',
    });
    await expect(both).rejects.toMatchObject({ status: 400, code: 'invalid_request' });
  });
});

describe('what a caller sends again of the conversation', () => {
  const user = (content: string) => ({ role: 'user', content }) as const;

  it('is taken if it is the tail of the thread', async () => {
    const first = await begin('one');
    const second = await goOn(first, [user('one'), ...first.output, user('two')] as OpenAI.Responses.ResponseInput);
    const asText = [user('one'), { role: 'assistant', content: first.output_text }, user('two')] as const;
    const third = await goOn(second, [...asText, { role: 'assistant', content: second.output_text }, user('three')]);
    const last = [{ role: 'assistant', content: third.output_text } as const, user('four')];
    expect(await questionsOf(await goOn(third, last))).toEqual(['one', 'two', 'three', 'four']);
  });

  it('names the conversation with its ids', async () => {
    const first = await begin('one');
    const input = [user('one'), ...first.output, user('two')] as OpenAI.Responses.ResponseInput;
    const second = await own.openai.responses.create({ model: own.agentId, input });
    expect(second).toMatchObject({ conversation: first.conversation, previous_response_id: first.id });
    const reference = { type: 'item_reference', id: second.output[0]?.id ?? '' } as const;
    const third = await own.openai.responses.create({ model: own.agentId, input: [reference, user('three')] });
    expect(await questionsOf(third)).toEqual(['one', 'two', 'three']);
  });

  it.each([
    ['another answer', [user('one'), { role: 'assistant', content: 'No.' }, user('two')], 'input[1]'],
    ['another question', [user('zero'), user('two')], 'input[0]'],
    ['two new questions', [user('two'), user('three')], 'input[0]'],
    ['an unknown item', [{ type: 'item_reference', id: 'msg_x' }, user('two')], 'input[0]'],
    ['no new question', [user('two'), { role: 'assistant', content: 'No.' }], 'input[1]'],
  ] as [string, OpenAI.Responses.ResponseInput, string][])('is refused with %s', async (_, input, param) => {
    const first = await begin('one');
    await expect(goOn(first, input)).rejects.toMatchObject({ status: 400, code: 'input_mismatch', param });
    expect(await questionsOf(first)).toEqual(['one']);
  });

  it('is refused without a conversation', async () => {
    const input = [user('one'), { role: 'assistant', content: 'Hello.' } as const, user('two')];
    await expect(own.openai.responses.create({ model: own.agentId, input })).rejects.toMatchObject({
      status: 400,
      code: 'input_mismatch',
      param: 'input[0]',
    });
  });

  it('is compared up to the response that is continued', async () => {
    const first = await begin('one');
    const second = await goOn(first, 'two');
    const input = [user('one'), ...first.output, user('three')] as OpenAI.Responses.ResponseInput;
    const other = await goOn(first, input);
    expect(await questionsOf(other)).toEqual(['one', 'three']);
    expect(taskIdOf(second)).not.toBe(taskIdOf(other));
  });
});
