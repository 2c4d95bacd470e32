import { randomBytes } from 'node:crypto';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';

/** Part of a question for whose answer the model first calls the tool `search`. */
export const SEARCH_FIRST = 'Search first.';

/** How much the model says before it is held. */
export const HELD_WORDS = 40;

export interface HeldModel extends FakeOpenAI {
  /** Lets the answers end that are held. */
  release(): void;
}

/**
 * Starts a model that stops in the middle of its answer to a question until it is released. The next attempt at the run
 * asks the same question again: the model then says other words, and does not stop. Each run needs a question of its
 * own.
 */
export async function startHeldModel(): Promise<HeldModel> {
  const asked = new Set<string>();
  let gate = Promise.withResolvers<void>();
  const model = await startFakeOpenAI({
    answer({ messages }) {
      const question = JSON.stringify(messages.findLast(({ role }) => role === 'user'));
      const hasSearched = messages.some(({ role }) => role === 'tool');
      if (question.includes(SEARCH_FIRST) && !hasSearched) {
        return { kind: 'tool-calls', deltas: randomWords(10), calls: [{ name: 'search', arguments: {} }] };
      }
      const deltas = randomWords(HELD_WORDS);
      if (asked.has(question)) return { kind: 'text', deltas };
      asked.add(question);
      return { kind: 'text', deltas, until: gate.promise };
    },
  });
  const release = (): void => {
    gate.resolve();
    gate = Promise.withResolvers();
  };
  return Object.assign(model, { release });
}

function randomWords(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${i === 0 ? '' : ' '}${randomBytes(4).toString('hex')}`);
}
