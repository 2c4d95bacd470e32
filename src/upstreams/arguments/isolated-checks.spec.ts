import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ArgumentChecker } from './argument-checker.js';
import type { IsolationTimes } from './isolated-checks.js';
import type { ArgumentVerdict } from './argument-verdict.js';

/** Long enough for a harmless check while the machine does other work. */
const TIMES: IsolationTimes = { deadline: 2_000, quarantine: 60_000, maxWait: 60_000 };

/** Takes practically forever for `SLOW_ARGS`, and no time for `FAST_ARGS`. */
const hostile = (): object => ({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } });
const harmless = (): object => ({ type: 'object', properties: { a: { type: 'string', pattern: '^a+$' } } });
const SLOW_ARGS = { a: `${'a'.repeat(60)}!` };
const FAST_ARGS = { a: 'aa' };

describe('IsolatedChecks', () => {
  let checker: ArgumentChecker;

  afterEach(async () => {
    await checker.onApplicationShutdown();
  });

  /** A checker whose threads have started. */
  async function started(times: Partial<IsolationTimes>): Promise<ArgumentChecker> {
    checker = new ArgumentChecker({ ...TIMES, ...times });
    expect(await checker.validateArguments(harmless(), FAST_ARGS, 'first')).toEqual({ outcome: 'fit' });
    return checker;
  }

  it('hostile schemas delay no plain check, and take turns with other owners', async () => {
    await started({});
    const order: string[] = [];
    const note = async (
      name: string,
      verdict: ArgumentVerdict | Promise<ArgumentVerdict>,
    ): Promise<ArgumentVerdict> => {
      const known = await verdict;
      order.push(name);
      return known;
    };

    const slow = Array.from({ length: 2 }, () =>
      note('hostile', checker.validateArguments(hostile(), SLOW_ARGS, 'hostile')),
    );
    const others = Array.from({ length: 5 }, (_, i) =>
      note('other', checker.validateArguments(harmless(), FAST_ARGS, `other ${i}`)),
    );
    expect(checker.validateArguments({ type: 'object' }, {}, 'plain')).toEqual({ outcome: 'fit' });

    expect(await Promise.all(others)).toEqual(Array.from({ length: 5 }, () => ({ outcome: 'fit' })));
    // The first is checked at once, and the second is first in the queue.
    expect(order).toEqual(['hostile', 'hostile', 'other', 'other', 'other', 'other', 'other']);
    expect(await slow[0]).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('too long') });
  });

  it('an owner that floods the queue does not block other owners', async () => {
    await started({});
    const order: string[] = [];
    const schema = harmless();
    const flood = Array.from({ length: 200 }, async () => {
      await checker.validateArguments(schema, FAST_ARGS, 'flood');
      order.push('flood');
    });
    await checker.validateArguments(harmless(), FAST_ARGS, 'other');
    order.push('other');
    await Promise.all(flood);
    expect(order.indexOf('other')).toBeLessThan(10);
  });

  it('quarantines a schema that missed the deadline, for a while', async () => {
    await started({ quarantine: 1_000 });
    const schema = hostile();
    const check = (args: object): ArgumentVerdict | Promise<ArgumentVerdict> =>
      checker.validateArguments(schema, args, 'owner');
    const [missed, queued] = await Promise.all([check(SLOW_ARGS), check(FAST_ARGS)]);
    expect(missed).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('takes too long') });
    expect(queued).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('for a while') });
    let verdict = await check(FAST_ARGS);
    while (verdict.outcome !== 'fit') {
      await sleep(50);
      verdict = await check(FAST_ARGS);
    }
  });

  it('refuses all schemas of an owner after a few have missed the deadline', async () => {
    await started({});
    for (let miss = 0; miss < 2; miss++) {
      expect(await checker.validateArguments(harmless(), FAST_ARGS, 'hostile')).toEqual({ outcome: 'fit' });
      expect(await checker.validateArguments(hostile(), SLOW_ARGS, 'hostile')).toMatchObject({ outcome: 'unusable' });
    }
    const refused = await checker.validateArguments(harmless(), FAST_ARGS, 'hostile');
    expect(refused).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('too often') });
    expect(await checker.validateArguments(harmless(), FAST_ARGS, 'other')).toEqual({ outcome: 'fit' });
  });

  it('gives up comparing many items', async () => {
    await started({});
    const schema = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
    const list = Array.from({ length: 100_000 }, (_, item) => ({ item }));
    expect(await checker.validateArguments(schema, { list }, 'slow')).toMatchObject({ outcome: 'unusable' });
  });

  it('a thread that runs out of memory does not affect the process', async () => {
    // The time limit is longer than the test, so only the memory limit can end the check.
    await started({ deadline: 600_000 });
    const branches = Array.from({ length: 30 }, (_, branch) => ({ const: branch }));
    const greedy = { properties: { list: { contains: { anyOf: branches } } } };
    const list = Array.from({ length: 400_000 }, () => 99);
    expect(await checker.validateArguments(greedy, { list }, 'greedy')).toMatchObject({ outcome: 'unusable' });
    expect(await checker.validateArguments(harmless(), FAST_ARGS, 'greedy')).toEqual({ outcome: 'fit' });
  }, 60_000);

  it('gives up a check that is queued for too long', async () => {
    await started({ maxWait: 100 });
    const slow = checker.validateArguments(hostile(), SLOW_ARGS, 'hostile');
    const schema = harmless();
    expect(await checker.validateArguments(schema, FAST_ARGS, 'fast')).toEqual({ outcome: 'busy' });
    expect(await checker.validateArguments(schema, FAST_ARGS, 'fast')).toEqual({ outcome: 'fit' });
    expect(await slow).toMatchObject({ outcome: 'unusable' });
  });

  it('limits how many checks are queued', async () => {
    await started({});
    const schema = harmless();
    const verdicts = await Promise.all(
      Array.from({ length: 1_000 }, () => checker.validateArguments(schema, FAST_ARGS, 'flood')),
    );
    expect(new Set(verdicts.map(({ outcome }) => outcome))).toEqual(new Set(['fit', 'busy']));
    expect(await checker.validateArguments(schema, FAST_ARGS, 'flood')).toEqual({ outcome: 'fit' });
  });

  it('ends at once at shutdown', async () => {
    await started({});
    const slow = checker.validateArguments(hostile(), SLOW_ARGS, 'owner');
    const waiting = checker.validateArguments(harmless(), FAST_ARGS, 'owner');
    await checker.onApplicationShutdown();
    expect(await Promise.all([slow, waiting])).toEqual([{ outcome: 'busy' }, { outcome: 'busy' }]);
    expect(await checker.validateArguments(harmless(), FAST_ARGS, 'owner')).toEqual({ outcome: 'busy' });
  });

  it('bounds the schemas cached on a thread, and recompiles an evicted one', async () => {
    await started({});
    const schemas = Array.from({ length: 600 }, (_, i) => ({ ...harmless(), required: [`p${i}`] }));
    for (const schema of [...schemas, ...schemas.slice(0, 5)]) {
      expect(await checker.validateArguments(schema, FAST_ARGS, 'owner')).toMatchObject({
        faults: [{ path: schema.required[0] }],
      });
    }
  });
});
