import { describe, expect, it } from '@jest/globals';
import type { ChatMessage } from '../../transcript/message.js';
import { questionOf } from './run-question.js';

const RUN = { id: 'run 2', message_id: 'a2' };

function message(
  id: string,
  role: ChatMessage['role'],
  taskId: string,
  more: ChatMessage['metadata'] = {},
): ChatMessage {
  return { id, role, parts: [], metadata: { taskId, ...more } };
}

const FIRST = [message('q1', 'user', 'run 1'), message('a1', 'assistant', 'run 1')];

async function found(oldestFirst: readonly ChatMessage[]) {
  async function* newestFirst() {
    yield* oldestFirst.toReversed();
  }
  const found = await questionOf(newestFirst(), RUN);
  return found && { ...found, question: found.question.id, system: found.system.map(({ id }) => id) };
}

describe('what a run answers', () => {
  it('is the message of its request, whatever came after it', async () => {
    const later = [message('q3', 'user', 'run 3'), message('a3', 'assistant', 'run 3')];
    const own = [message('s2', 'system', RUN.id), message('q2', 'user', RUN.id), message('a2', 'assistant', RUN.id)];
    expect(await found([...FIRST, ...own, ...later])).toEqual({ question: 'q2', system: ['s2'], previousId: 'a1' });
  });

  it('has no message before it in a thread that it began', async () => {
    const own = [message('q2', 'user', RUN.id), message('a2', 'assistant', RUN.id)];
    expect(await found(own)).toEqual({ question: 'q2', system: [], previousId: undefined });
  });

  it('is not a message that steered the run', async () => {
    const steer = message('m', 'user', RUN.id, { steerId: 's' });
    const own = [message('q2', 'user', RUN.id), steer, message('a2', 'assistant', RUN.id)];
    expect(await found([...FIRST, ...own])).toMatchObject({ question: 'q2', previousId: 'a1' });
  });

  it('is the question that a run answers again, past an answer that it has superseded', async () => {
    const superseded = { superseded_by: RUN.id };
    const own = [message('q0', 'user', 'run 0'), message('a0', 'assistant', 'run 0', superseded)];
    const again = [...FIRST, ...own, message('q9', 'user', 'run 9', superseded), message('a2', 'assistant', RUN.id)];
    expect(await found(again)).toEqual({ question: 'q0', system: [], previousId: 'a1' });
  });

  it('is its own question although a later answer has superseded it, in a copy without what is superseded', async () => {
    const superseded = { superseded_by: 'run 7' };
    const before = message('a1b', 'assistant', 'run 1', superseded);
    const own = [message('q2', 'user', RUN.id, superseded), message('a2', 'assistant', RUN.id, superseded)];
    expect(await found([...FIRST, before, ...own])).toMatchObject({ question: 'q2', previousId: 'a1' });
  });

  it('is found without an answer, and missing where it was deleted', async () => {
    expect(await found([...FIRST, message('q2', 'user', RUN.id)])).toMatchObject({ question: 'q2', previousId: 'a1' });
    expect(await found(FIRST)).toBeUndefined();
  });
});
