import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ArgumentChecker } from './argument-checker.js';
import type { ArgumentVerdict } from './argument-verdict.js';
import type { IsolationTimes } from './isolated-checks.js';

const GENEROUS = { compile: 20_000, check: 20_000 };
const TIMES: IsolationTimes = {
  quick: GENEROUS,
  slow: { compile: 2_000, check: 1_000 },
  demotion: 60_000,
  tolerance: 60_000,
  maxWait: 60_000,
};

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

  const QUICK = { compile: 400, check: 200 };

  it('a hostile expression delays neither plain checks nor those of other owners', async () => {
    await started({ quick: QUICK, slow: { compile: 4_000, check: 4_000 } });
    const order: string[] = [];
    const note = (name: string, verdict: ArgumentVerdict | Promise<ArgumentVerdict>): Promise<ArgumentVerdict> =>
      Promise.resolve(verdict).finally(() => order.push(name));

    const slow = note('hostile', checker.validateArguments(hostile(), SLOW_ARGS, 'hostile'));
    const others = Array.from({ length: 5 }, (_, i) =>
      note('other', checker.validateArguments(harmless(), FAST_ARGS, `other ${i}`)),
    );
    expect(checker.validateArguments({ type: 'object' }, {}, 'plain')).toEqual({ outcome: 'fit' });

    expect(await Promise.all(others)).toEqual(Array.from({ length: 5 }, () => ({ outcome: 'fit' })));
    expect(await slow).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('too long') });
    expect(order).toEqual(['other', 'other', 'other', 'other', 'other', 'hostile']);
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

  it('the queued checks of an owner move to the slow lane with it', async () => {
    await started({ quick: QUICK, slow: { compile: 1_000, check: 1_000 }, tolerance: 0 });
    const schemas = Array.from({ length: 20 }, hostile);
    const slow = schemas.map((schema) => checker.validateArguments(schema, SLOW_ARGS, 'hostile'));
    const fast = await checker.validateArguments(harmless(), FAST_ARGS, 'fast');
    expect(fast).toEqual({ outcome: 'fit' });
    const still = await Promise.race([Promise.all(slow), 'waiting']);
    expect(still).toBe('waiting');
    await checker.onApplicationShutdown();
    expect(await Promise.all(slow)).toContainEqual({ outcome: 'busy' });
  });

  it('a schema that costs too much is quarantined until its debt is paid', async () => {
    await started({ quick: QUICK, slow: { compile: 1_000, check: 1_000 }, tolerance: 980 });
    const schema = hostile();
    const check = (args: object): ArgumentVerdict | Promise<ArgumentVerdict> =>
      checker.validateArguments(schema, args, 'owner');
    expect(await check(SLOW_ARGS)).toMatchObject({
      outcome: 'unusable',
      reason: expect.not.stringContaining('too often'),
    });
    expect(await check(FAST_ARGS)).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('too often') });
    expect(await checker.validateArguments(harmless(), FAST_ARGS, 'owner')).toEqual({ outcome: 'fit' });
    let verdict = await check(FAST_ARGS);
    while (verdict.outcome !== 'fit') {
      await sleep(50);
      verdict = await check(FAST_ARGS);
    }
  });

  it('a few costly arguments do not quarantine the schema', async () => {
    await started({ quick: { compile: 300, check: 50 }, slow: { compile: 500, check: 500 } });
    const schema = hostile();
    expect(await checker.validateArguments(schema, SLOW_ARGS, 'owner')).toMatchObject({ outcome: 'unusable' });
    expect(await checker.validateArguments(schema, FAST_ARGS, 'owner')).toEqual({ outcome: 'fit' });
  });

  it('comparing many items delays only its own owner', async () => {
    await started({ quick: QUICK });
    const schema = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
    const list = Array.from({ length: 100_000 }, (_, item) => ({ item }));
    const slow = checker.validateArguments(schema, { list }, 'slow');
    expect(await checker.validateArguments(harmless(), FAST_ARGS, 'fast')).toEqual({ outcome: 'fit' });
    expect(await slow).toMatchObject({ outcome: 'unusable' });
  });

  it('a thread that runs out of memory does not affect the process', async () => {
    // The time limit is longer than the test, so only the memory limit can end the check.
    await started({ quick: QUICK, slow: { compile: 600_000, check: 600_000 } });
    const branches = Array.from({ length: 30 }, (_, branch) => ({ const: branch }));
    const greedy = { properties: { list: { contains: { anyOf: branches } } } };
    const list = Array.from({ length: 400_000 }, () => 99);
    expect(await checker.validateArguments(greedy, { list }, 'greedy')).toMatchObject({ outcome: 'unusable' });
    expect(await checker.validateArguments(harmless(), FAST_ARGS, 'greedy')).toEqual({ outcome: 'fit' });
  }, 60_000);

  it('gives up a check that is queued for too long', async () => {
    await started({ quick: QUICK, maxWait: 100 });
    const slow = checker.validateArguments(hostile(), SLOW_ARGS, 'hostile');
    const schema = harmless();
    expect(await checker.validateArguments(schema, FAST_ARGS, 'fast')).toEqual({ outcome: 'busy' });
    expect(await checker.validateArguments(schema, FAST_ARGS, 'fast')).toEqual({ outcome: 'fit' });
    expect(await slow).toEqual({ outcome: 'busy' });
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
