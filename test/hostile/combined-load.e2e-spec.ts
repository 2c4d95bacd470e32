import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ask, type HostileTarget, startHostileTarget } from './harness.js';

const OWNER = { email: 'owner@example.com', password: 'correct horse battery staple 7' };
const ATTACK_MS = 15_000;
/**
 * The median of the neighbour's calls, as a part of that of the same calls of the organization that makes the load.
 * Both wait for the same event loop, on the same machine, at the same time: where nobody takes turns, they wait equally
 * long.
 */
const PART = 1 / 2;

let target: HostileTarget;
let load: ChildProcess;
beforeAll(async () => {
  const env = {
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    // The neighbour has the same address as the load, whose connections are all new at once.
    MAX_UNAUTHENTICATED_CONNECTIONS: '4000',
  };
  target = await startHostileTarget({ env });
  load = fork(new URL('./combined-load.mjs', import.meta.url), { execArgv: [] });
  await ask(load, { type: 'connect', url: target.url, key: target.apiKey, owner: OWNER });
}, 120_000);
afterAll(async () => {
  load?.kill('SIGKILL');
  await target?.close();
});

it('streams that nobody reads, large answers, waiting runs, sessions and sign-ins at once hold up their organization, and no other', async () => {
  let made = { counts: {}, medianCallMs: 0 };
  const { calls, runs } = await target.during(async () => {
    await ask(load, { type: 'start' });
    await sleep(ATTACK_MS);
    made = (await ask(load, { type: 'stop' })) as typeof made;
  });
  for (const kind of [
    'stalled 0 200',
    'stalled 1 200',
    'large bytes',
    'call 200',
    'run 202',
    'session 200',
    'sign-in 303',
  ]) {
    expect(made.counts).toHaveProperty([kind]);
  }
  process.stdout.write(
    `  median call ${made.medianCallMs.toFixed(0)}, of the neighbour ${calls.medianMs.toFixed(0)} ms\n`,
  );
  expect(target.service.hasEnded).toBe(false);
  expect([...calls.failures, ...runs.failures]).toEqual([]);
  expect(calls.medianMs).toBeLessThan(PART * made.medianCallMs);
}, 240_000);
