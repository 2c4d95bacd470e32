import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ArgumentChecker } from './argument-checker.js';
import type { ArgumentVerdict } from './argument-verdict.js';
import type { IsolationTimes } from './isolated-checks.js';

const PATIENT = { compile: 20_000, check: 20_000 };
const TIMES: IsolationTimes = {
  quick: PATIENT,
  slow: { compile: 2_000, check: 1_000 },
  demotion: 60_000,
  tolerance: 60_000,
  patience: 60_000,
};

/** Takes longer than the world exists for `DOOM`, and no time for `CALM`. */
const hostile = (): object => ({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } });
const harmless = (): object => ({ type: 'object', properties: { a: { type: 'string', pattern: '^a+$' } } });
const DOOM = { a: `${'a'.repeat(60)}!` };
const CALM = { a: 'aa' };

describe('checks on threads', () => {
  let checker: ArgumentChecker;

  afterEach(async () => {
    await checker.onApplicationShutdown();
  });

  /** A checker whose threads have started. */
  async function started(times: Partial<IsolationTimes>): Promise<ArgumentChecker> {
    checker = new ArgumentChecker({ ...TIMES, ...times });
    expect(await checker.check(harmless(), CALM, 'first')).toEqual({ outcome: 'fit' });
    return checker;
  }

  const QUICK = { compile: 400, check: 200 };

  it('a hostile expression delays neither plain checks nor the checks of others', async () => {
    await started({ quick: QUICK, slow: { compile: 4_000, check: 4_000 } });
    const order: string[] = [];
    const note = (name: string, verdict: ArgumentVerdict | Promise<ArgumentVerdict>): Promise<ArgumentVerdict> =>
      Promise.resolve(verdict).finally(() => order.push(name));

    const doomed = note('hostile', checker.check(hostile(), DOOM, 'hostile'));
    const others = Array.from({ length: 5 }, (_, i) => note('other', checker.check(harmless(), CALM, `other ${i}`)));
    expect(checker.check({ type: 'object' }, {}, 'plain')).toEqual({ outcome: 'fit' });

    expect(await Promise.all(others)).toEqual(Array.from({ length: 5 }, () => ({ outcome: 'fit' })));
    expect(await doomed).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('too long') });
    expect(order).toEqual(['other', 'other', 'other', 'other', 'other', 'hostile']);
  });

  it('an owner that floods the line lets the others through in turn', async () => {
    await started({});
    const order: string[] = [];
    const schema = harmless();
    const flood = Array.from({ length: 200 }, async () => {
      await checker.check(schema, CALM, 'flood');
      order.push('flood');
    });
    await checker.check(harmless(), CALM, 'other');
    order.push('other');
    await Promise.all(flood);
    expect(order.indexOf('other')).toBeLessThan(10);
  });

  it('what an owner has in the line follows it to the slow lane', async () => {
    await started({ quick: QUICK, slow: { compile: 1_000, check: 1_000 }, tolerance: 0 });
    const schemas = Array.from({ length: 20 }, hostile);
    const doomed = schemas.map((schema) => checker.check(schema, DOOM, 'hostile'));
    const calm = await checker.check(harmless(), CALM, 'calm');
    expect(calm).toEqual({ outcome: 'fit' });
    const still = await Promise.race([Promise.all(doomed), 'waiting']);
    expect(still).toBe('waiting');
    await checker.onApplicationShutdown();
    expect(await Promise.all(doomed)).toContainEqual({ outcome: 'busy' });
  });

  it('a schema that costs too much is kept away, and tried again when its debt is paid', async () => {
    await started({ quick: QUICK, slow: { compile: 1_000, check: 1_000 }, tolerance: 980 });
    const schema = hostile();
    const check = (args: object): ArgumentVerdict | Promise<ArgumentVerdict> => checker.check(schema, args, 'owner');
    expect(await check(DOOM)).toMatchObject({ outcome: 'unusable', reason: expect.not.stringContaining('too often') });
    expect(await check(CALM)).toMatchObject({ outcome: 'unusable', reason: expect.stringContaining('too often') });
    expect(await checker.check(harmless(), CALM, 'owner')).toEqual({ outcome: 'fit' });
    let verdict = await check(CALM);
    while (verdict.outcome !== 'fit') {
      await sleep(50);
      verdict = await check(CALM);
    }
  });

  it('a few costly arguments do not take the tool away', async () => {
    await started({ quick: { compile: 300, check: 50 }, slow: { compile: 500, check: 500 } });
    const schema = hostile();
    expect(await checker.check(schema, DOOM, 'owner')).toMatchObject({ outcome: 'unusable' });
    expect(await checker.check(schema, CALM, 'owner')).toEqual({ outcome: 'fit' });
  });

  it('comparing very many items costs its caller, and nobody else', async () => {
    await started({ quick: QUICK });
    const schema = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
    const list = Array.from({ length: 100_000 }, (_, item) => ({ item }));
    const slow = checker.check(schema, { list }, 'slow');
    expect(await checker.check(harmless(), CALM, 'calm')).toEqual({ outcome: 'fit' });
    expect(await slow).toMatchObject({ outcome: 'unusable' });
  });

  it('a thread that runs out of memory takes nothing down', async () => {
    // Its time is longer than the test's: only the memory can end the check.
    await started({ quick: QUICK, slow: { compile: 600_000, check: 600_000 } });
    const branches = Array.from({ length: 30 }, (_, branch) => ({ const: branch }));
    const greedy = { properties: { list: { contains: { anyOf: branches } } } };
    const list = Array.from({ length: 400_000 }, () => 99);
    expect(await checker.check(greedy, { list }, 'greedy')).toMatchObject({ outcome: 'unusable' });
    expect(await checker.check(harmless(), CALM, 'greedy')).toEqual({ outcome: 'fit' });
  }, 60_000);

  it('gives up what waits too long', async () => {
    await started({ quick: QUICK, patience: 100 });
    const doomed = checker.check(hostile(), DOOM, 'hostile');
    const schema = harmless();
    expect(await checker.check(schema, CALM, 'calm')).toEqual({ outcome: 'busy' });
    expect(await checker.check(schema, CALM, 'calm')).toEqual({ outcome: 'fit' });
    expect(await doomed).toEqual({ outcome: 'busy' });
  });

  it('lets no more wait than it can serve', async () => {
    await started({});
    const schema = harmless();
    const verdicts = await Promise.all(Array.from({ length: 1_000 }, () => checker.check(schema, CALM, 'flood')));
    expect(new Set(verdicts.map(({ outcome }) => outcome))).toEqual(new Set(['fit', 'busy']));
    expect(await checker.check(schema, CALM, 'flood')).toEqual({ outcome: 'fit' });
  });

  it('ends at once at shutdown, whatever is under way', async () => {
    await started({});
    const doomed = checker.check(hostile(), DOOM, 'owner');
    const waiting = checker.check(harmless(), CALM, 'owner');
    await checker.onApplicationShutdown();
    expect(await Promise.all([doomed, waiting])).toEqual([{ outcome: 'busy' }, { outcome: 'busy' }]);
    expect(await checker.check(harmless(), CALM, 'owner')).toEqual({ outcome: 'busy' });
  });

  it('remembers only so many schemas on a thread, and compiles one again that it has forgotten', async () => {
    await started({});
    const schemas = Array.from({ length: 600 }, (_, i) => ({ ...harmless(), required: [`p${i}`] }));
    for (const schema of [...schemas, ...schemas.slice(0, 5)]) {
      expect(await checker.check(schema, CALM, 'owner')).toMatchObject({ faults: [{ path: schema.required[0] }] });
    }
  });
});
