import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { redisServerCommand } from '../support/redis-server.js';
import { type OutageStore, type OutageTarget, startOutageTarget } from './outage-target.js';
import { type Answer, type RequestKind, requestKinds, send } from './request-kinds.js';
import { eventually } from '../support/eventually.js';

/**
 * A statement takes at most 12 s, the wait for a connection before it 3 s, the record of a failed call 1 s; the rest is
 * for the machine.
 */
const BOUND_MS = 19_000;
/** While stores are slow, each of the statements of a request can wait. */
const SLOW_BOUND_MS = 2 * BOUND_MS;
/** What needs no store waits for the machine only, and for the requests that arrive at the same time. */
const STATIC_BOUND_MS = 10_000;
const AT_ONCE = 3;
/** Posts that arrive at once, and the size of their messages. */
const FLOOD = 200;
const FLOOD_BYTES = 64 * 1024;
/** What the service may hold beyond what it held before the outage. */
const GROWTH_MIB = 64;
/** Connections to a store that the service can open during an outage: its pools, and attempts to replace lost ones. */
const MOST_CONNECTIONS = 250;
const RECOVERY_MS = 30_000;
/** In each direction: a statement takes twice this time. */
const LATENCY_MS = 50;
const REFUSALS = new Set([
  'storage_unavailable',
  'temporarily_unavailable',
  'answer_memory_exhausted',
  'too_many_runs',
]);
const MESSAGE = { name: 'a message', isStatic: false };

const backends = [
  { queue: 'PostgreSQL', redis: false, cases: [['database']] as const },
  ...(redisServerCommand() === undefined
    ? []
    : [{ queue: 'Redis', redis: true, cases: [['database'], ['redis'], ['database', 'redis']] as const }]),
];

/** Stores that answer slowly or not at all, under requests of every kind. */
describe.each(backends)('with the queue on $queue', ({ redis, cases }) => {
  let target: OutageTarget;
  let kinds: RequestKind[];
  let usual: Map<string, Answer>;

  beforeAll(async () => {
    target = await startOutageTarget({ redis });
    kinds = requestKinds(target.world);
    await sendAll();
    usual = new Map((await sendAll()).map(({ kind, answer }) => [kind.name, answer]));
    for (const [name, { status, text }] of usual) {
      if (status >= 500) throw new Error(`${name} is answered with ${status} without any fault: ${text}`);
    }
  }, 120_000);

  afterAll(() => target?.close(), 60_000);

  /** Sends a request of every kind, all at once. */
  function sendAll(): Promise<{ kind: RequestKind; answer: Answer }[]> {
    return Promise.all(kinds.map(async (kind) => ({ kind, answer: await kind.send() })));
  }

  const isUsual = (name: string, { status }: Answer): boolean => {
    const expected = usual.get(name)?.status ?? 0;
    // A stream that ends at once if nothing runs depends on what runs.
    return status === expected || (status < 300 && expected < 300);
  };

  /** What is wrong with an answer during an outage; undefined for one as usual and for a clear refusal. */
  function faultOf(
    { name, isStatic }: Pick<RequestKind, 'name' | 'isStatic'>,
    answer: Answer,
    boundMs: number,
  ): string | undefined {
    const { status, headers, text, ms } = answer;
    const shown = `${name}: ${status} after ${ms.toFixed(0)} ms: ${text.slice(0, 200)}`;
    if (ms > (isStatic ? STATIC_BOUND_MS : boundMs)) return `late: ${shown}`;
    if (isUsual(name, answer)) return undefined;
    if (isStatic || (status !== 503 && status !== 429)) return `wrong: ${shown}`;
    if (name === 'health: ready') return undefined;
    if (headers['retry-after'] === undefined) return `without Retry-After: ${shown}`;
    return isRefusal(answer) ? undefined : `not clear: ${shown}`;
  }

  async function expectNoFaults({ boundMs = BOUND_MS, rounds: count = AT_ONCE } = {}): Promise<void> {
    const rounds = await Promise.all(Array.from({ length: count }, sendAll));
    const faults = rounds.flat().map(({ kind, answer }) => faultOf(kind, answer, boundMs));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  }

  /** Posts that all arrive at the same time. Returns how many were accepted. */
  async function expectFlooded(threadId: string, boundMs = BOUND_MS): Promise<number> {
    const { url, apiKey, agentId } = target.world;
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 'x'.repeat(FLOOD_BYTES) }] }];
    const post = (): Promise<Answer> =>
      send(`${url}/api/default/agent-runtime/threads/${threadId}/messages`, {
        method: 'POST',
        body: { messages, agent: { id: agentId } },
        headers: { authorization: `Bearer ${apiKey}` },
      });
    const answers = await Promise.all(Array.from({ length: FLOOD }, post));
    const faults = answers.map((answer) => faultOf(MESSAGE, answer, boundMs));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
    return answers.filter(({ status }) => status === 202).length;
  }

  async function untilUsual(): Promise<void> {
    for (const deadline = Date.now() + RECOVERY_MS; ; await sleep(500)) {
      const unusual = (await sendAll()).filter(({ kind, answer }) => !isUsual(kind.name, answer));
      if (unusual.length === 0) return;
      const shown = unusual.map(
        ({ kind: { name }, answer }) => `${name}: ${answer.status} ${answer.text.slice(0, 200)}`,
      );
      if (Date.now() > deadline) throw new Error(`Not as before: ${shown.join('; ')}`);
    }
  }

  it.each(cases.map((names) => [names.join(' and '), names] as const))(
    'every request is answered in time while the processes of the %s are stopped, and afterwards as before',
    async (_, names) => {
      const stores = names.map((name) => target.stores[name] as OutageStore);
      const [used, descriptors] = [await target.usedMib(), target.descriptors()];
      const connected = stores.map(({ relay }) => relay.connections());
      const [thread, flooded] = [await target.thread(), await target.thread()];
      const reader = await thread.stream();
      const taskId = await thread.postMessage('/words 20\n/wait 3000\n/words 20');
      const reading = reader.collectUntilDone(120_000);
      reading.catch(() => undefined);

      const resume = await Promise.all(stores.map((store) => store.stop()));
      let accepted = 0;
      try {
        await expectNoFaults();
        [, accepted] = await Promise.all([expectNoFaults(), expectFlooded(flooded.id)]);
        stores.forEach(({ relay }, i) =>
          expect(relay.connections() - (connected[i] ?? 0)).toBeLessThan(MOST_CONNECTIONS),
        );
        expect((await target.usedMib()) - used).toBeLessThan(GROWTH_MIB);
      } finally {
        for (const go of resume) go();
      }

      await untilUsual();
      await flooded.cancel().expect(202);
      // The reader that was there all the time has missed nothing.
      await thread.expectAnswer(taskId, await reading);
      expect((await thread.run(taskId)).status).toBe('completed');
      await eventually(() => expect(target.descriptors()).toBeLessThanOrEqual(descriptors + 60), RECOVERY_MS);
      expect(target.service.hasEnded).toBe(false);
      expect(target.service.output).not.toMatch(/Unhandled|Uncaught/);
      process.stdout.write(
        `  ${names.join(', ')}: ${accepted} of ${FLOOD} posts accepted; held ${used.toFixed(0)} → ${(await target.usedMib()).toFixed(0)} MiB; ` +
          `connections ${stores.map(({ relay }, i) => relay.connections() - (connected[i] ?? 0)).join(', ')}\n`,
      );
    },
    240_000,
  );

  it('every request is answered in time while all stores are slow, and runs complete', async () => {
    const stores = Object.values(target.stores);
    const used = await target.usedMib();
    const slowDown = (milliseconds: number): void => {
      for (const { relay } of stores) {
        relay.delay(milliseconds);
        // Replaces the connections.
        relay.thaw();
      }
    };
    slowDown(LATENCY_MS);
    try {
      await untilUsual();
      const [thread, flooded] = [await target.thread(), await target.thread()];
      const stream = await thread.stream();
      const taskId = await thread.postMessage('/words 50');
      const [, , accepted] = await Promise.all([
        stream.collectUntilDone(60_000).then((collected) => thread.expectAnswer(taskId, collected)),
        expectNoFaults({ boundMs: SLOW_BOUND_MS, rounds: 1 }),
        expectFlooded(flooded.id, SLOW_BOUND_MS),
      ]);
      expect(accepted).toBeGreaterThan(0);
      expect((await target.usedMib()) - used).toBeLessThan(GROWTH_MIB);
      await flooded.cancel().expect(202);
    } finally {
      slowDown(0);
    }
    await untilUsual();
    expect(target.service.hasEnded).toBe(false);
  }, 240_000);
});

/** True if the body has the form of an error, with a code that tells the caller to retry. */
function isRefusal({ text, headers }: Answer): boolean {
  if (String(headers['content-type']).startsWith('text/html')) return true;
  const body = JSON.parse(text) as { code?: string; error?: string | { data?: { code?: string } } };
  const code = body.code ?? (typeof body.error === 'object' ? body.error.data?.code : body.error);
  return REFUSALS.has(code ?? '');
}
