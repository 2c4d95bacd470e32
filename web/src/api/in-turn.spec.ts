import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/eventually.js';
import { inTurn } from './in-turn.js';

let window: EventTarget;
let closing: AbortController;
/** The pages whose work has begun, in this order. */
let begun: string[];

beforeEach(() => {
  window = new EventTarget();
  closing = new AbortController();
  begun = [];
  const addEventListener = window.addEventListener.bind(window);
  Object.assign(globalThis, { document: { visibilityState: 'visible' }, addEventListener });
});
afterEach(() => closing.abort());

/**
 * A page whose work goes on until its place is lost, and ends with `ending`. All pages of a test have one window: each
 * has a claim of its own, which is its name.
 */
function openPage(
  name: string,
  ending?: Promise<void>,
): { readonly began: Promise<void>; readonly lost: Promise<void> } {
  const [began, lost] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  void inTurn({ name: 'test', places: 1, claims: [name] }, closing.signal, async (held) => {
    begun.push(name);
    began.resolve();
    await new Promise((resolve) => held.addEventListener('abort', resolve, { once: true }));
    lost.resolve();
    await ending;
  });
  return { began: began.promise, lost: lost.promise };
}

it('a page that is used while its work is still ending takes its place back', async () => {
  const { promise: ending, resolve: end } = Promise.withResolvers<void>();
  const first = openPage('first', ending);
  await first.began;
  openPage('second');
  await first.lost;
  window.dispatchEvent(new Event('first'));
  end();
  await eventually(() => expect(begun).toEqual(['first', 'second', 'first']));
});
