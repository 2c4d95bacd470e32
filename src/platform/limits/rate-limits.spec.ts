import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Counter, Meter, type Verdict } from './rate-limits.js';

const START = 1_800_000_000_000;
let clock = START;

/** The counts of all processes, as the store keeps them. */
class SharedCounts implements Counter {
  queries = 0;
  isAway = false;
  private count = 0;
  private endsAt = 0;

  async add(_key: string, requests: number) {
    this.queries += 1;
    await Promise.resolve();
    if (this.isAway) throw new Error('away');
    if (clock >= this.endsAt) [this.count, this.endsAt] = [0, clock + 60_000];
    this.count += requests;
    return { count: this.count, endsInMs: this.endsAt - clock };
  }
}

let store: SharedCounts;

beforeEach(() => {
  clock = START;
  store = new SharedCounts();
  jest.spyOn(Date, 'now').mockImplementation(() => clock);
});
afterEach(() => {
  jest.restoreAllMocks();
});

function process(): Meter {
  return new Meter('key', store, () => undefined);
}

async function allowedOf(verdicts: readonly (Verdict | Promise<Verdict>)[]): Promise<number> {
  return (await Promise.all(verdicts)).filter(({ isAllowed }) => isAllowed).length;
}

/** Sends requests one after the other; returns the number of allowed ones. */
async function inTurn(meter: Meter, requests: number, limit: number): Promise<number> {
  let allowed = 0;
  for (let n = 0; n < requests; n++) if ((await meter.take(limit)).isAllowed) allowed += 1;
  return allowed;
}

describe('Meter', () => {
  it('counts down a small quota exactly, in turn and at once', async () => {
    const meter = process();
    const remaining: number[] = [];
    for (let n = 0; n < 4; n++) remaining.push((await meter.take(5)).remaining);
    expect(remaining).toEqual([4, 3, 2, 1]);
    expect(await allowedOf(Array.from({ length: 10 }, () => meter.take(5)))).toBe(1);
  });

  it('shares a small quota exactly between processes', async () => {
    const processes = [process(), process(), process()];
    const all = Array.from({ length: 30 }, (_, n) => processes[n % 3]?.take(7) as Promise<Verdict>);
    expect(await allowedOf(all)).toBe(7);
  });

  it('begins a new window after 60 s', async () => {
    const meter = process();
    expect(await inTurn(meter, 10, 5)).toBe(5);
    clock += 59_999;
    expect(await inTurn(meter, 1, 5)).toBe(0);
    clock += 1;
    expect(await inTurn(meter, 10, 5)).toBe(5);
  });

  it('needs one query for requests that arrive at once, and none for requests above the quota', async () => {
    const meter = process();
    expect(await allowedOf(Array.from({ length: 900 }, () => meter.take(1_000)))).toBe(900);
    expect(store.queries).toBe(2);
    expect(await inTurn(meter, 200, 1_000)).toBe(100);
    const { queries } = store;
    expect(await inTurn(meter, 5_000, 1_000)).toBe(0);
    expect(store.queries).toBe(queries);
  });

  it('shares a large quota exactly between busy processes', async () => {
    const processes = [process(), process(), process(), process()];
    let allowed = 0;
    for (let n = 0; n < 500; n++) allowed += await allowedOf(processes.map((meter) => meter.take(1_000)));
    expect(allowed).toBe(1_000);
  });

  it('applies a changed limit to what the window has already counted, refused requests included', async () => {
    const meter = process();
    expect(await inTurn(meter, 50, 1_000)).toBe(50);
    expect(await inTurn(meter, 10, 20)).toBe(0);
    expect(await inTurn(meter, 1, 60)).toBe(0);
    expect(await inTurn(meter, 100, 100)).toBe(100 - 61);
  });

  it('enforces the quota alone while the store is unavailable, and reports it afterwards', async () => {
    const meter = process();
    expect(await inTurn(meter, 2, 10)).toBe(2);
    store.isAway = true;
    expect(await inTurn(meter, 20, 10)).toBe(8);
    store.isAway = false;
    clock += 2_000;
    expect(await inTurn(meter, 1, 10)).toBe(0);
    expect(await inTurn(process(), 1, 10)).toBe(0);
  });

  it('has the whole quota alone after a window that ended while requests were counted', async () => {
    const meter = process();
    expect(await inTurn(meter, 8, 10)).toBe(8);
    const underWay = meter.take(10);
    clock += 60_000;
    expect((await underWay).isAllowed).toBe(true);
    store.isAway = true;
    expect(await inTurn(meter, 10, 10)).toBe(9);
  });
});
