import { describe, expect, it } from '@jest/globals';
import { type HoldPlace, type Pause, Turns } from './turns.js';

const TURN_MS = 1;

/** A stream whose reading ends when the test says so. */
class Stream {
  readonly pauses: (Pause | undefined)[] = [];
  turns = 0;
  #end: () => void = () => undefined;
  #onChange: () => void = () => undefined;
  readonly #ended = new Promise<void>((resolve) => (this.#end = resolve));
  readonly leaving = new AbortController();
  readonly done: Promise<void>;

  constructor(turns: Turns) {
    const onPaused = (why: Pause | undefined): void => {
      this.pauses.push(why);
      this.#onChange();
    };
    this.done = turns.take({ read: (turn) => this.#read(turn), onPaused }, this.leaving.signal);
  }

  end(): void {
    this.#end();
  }

  /** Resolves when the stream has been read in so many turns. */
  async hasTurns(count: number): Promise<void> {
    while (this.turns < count) await new Promise<void>((resolve) => (this.#onChange = resolve));
  }

  /** Resolves when the stream was told so. */
  async isPaused(why: Pause): Promise<void> {
    while (this.pauses.at(-1) !== why) await new Promise<void>((resolve) => (this.#onChange = resolve));
  }

  async #read(turn: AbortSignal): Promise<void> {
    this.turns++;
    this.#onChange();
    await Promise.race([this.#ended, new Promise((resolve) => turn.addEventListener('abort', resolve))]);
  }
}

/** A page that always gets its places, until they are taken from it. */
function pageWithPlaces(): { hold: HoldPlace; held: Set<AbortController> } {
  const held = new Set<AbortController>();
  const hold: HoldPlace = async (signal, work) => {
    const lost = new AbortController();
    held.add(lost);
    await work(AbortSignal.any([signal, lost.signal]));
    held.delete(lost);
    // A page whose place was taken waits for another one.
    if (lost.signal.aborted && !signal.aborted) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
  };
  return { hold, held };
}

describe('Turns', () => {
  it('reads three streams in turn with two places, though none of them ends', async () => {
    const { hold, held } = pageWithPlaces();
    const turns = new Turns(2, hold, TURN_MS);
    const streams = [1, 2, 3].map(() => new Stream(turns));
    expect(held.size).toBe(2);
    expect(streams[2]?.pauses).toEqual(['turn']);
    await Promise.all(streams.map((stream) => stream.hasTurns(3)));
    for (const stream of streams) stream.end();
    await Promise.all(streams.map(({ done }) => done));
    expect(held.size).toBe(0);
  });

  it('reads all with the place that is left when another page takes one', async () => {
    const { hold, held } = pageWithPlaces();
    const turns = new Turns(2, hold, TURN_MS);
    const streams = [1, 2].map(() => new Stream(turns));
    [...held][0]?.abort();
    await Promise.all(streams.map((stream) => stream.hasTurns(3)));
    expect(streams.flatMap(({ pauses }) => pauses)).not.toContain('tabs');
    for (const stream of streams) stream.end();
    await Promise.all(streams.map(({ done }) => done));
    expect(held.size).toBe(0);
  });

  it('says that other pages have all places, and ends when nobody waits for it', async () => {
    const { hold, held } = pageWithPlaces();
    const stream = new Stream(new Turns(2, hold, TURN_MS));
    [...held][0]?.abort();
    await stream.isPaused('tabs');
    stream.leaving.abort();
    await stream.done;
    expect(stream.pauses).toEqual([undefined, 'tabs']);
  });

  it('passes on what a stream throws, and goes on with the others', async () => {
    const { hold } = pageWithPlaces();
    const turns = new Turns(1, hold, TURN_MS);
    const failing = turns.take(
      { read: () => Promise.reject(new Error('expired')), onPaused: () => undefined },
      new AbortController().signal,
    );
    const next = new Stream(turns);
    await expect(failing).rejects.toThrow('expired');
    await next.hasTurns(1);
    next.end();
    await next.done;
    expect(next.pauses).toEqual(['turn', undefined]);
  });
});
