import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { eventually } from '../support/eventually.js';
import { RawConnection, requestText } from '../support/raw-http.js';
import { type HostileTarget, startHostileTarget } from './harness.js';

const MEBIBYTE = 1_048_576;
const PATH = '/api/default/tools/API_KEY_LIST';
const JSON_TYPE = { 'content-type': 'application/json' };
const ATTACK_MS = 3_000;
const MAX_STRANGERS = 200;

let target: HostileTarget;
beforeAll(async () => {
  target = await startHostileTarget({ env: { MAX_UNAUTHENTICATED_CONNECTIONS: String(MAX_STRANGERS) } });
});
afterAll(() => target?.close());

const times = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Repeats until the time is over, in so many places at once. */
async function during(ms: number, width: number, act: (place: number) => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + ms;
  const places = times(width).map(async (place) => {
    while (Date.now() < deadline) await act(place);
  });
  await Promise.all(places);
}

/** Statuses of the answers; connections that the service closed have none. */
async function post(headers: Record<string, string>, body: string): Promise<number | undefined> {
  const answer = await fetch(target.url + PATH, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body }).catch(
    () => undefined,
  );
  await answer?.body?.cancel();
  return answer?.status;
}

describe('a caller without a credential', () => {
  it('holds no unfinished bodies', async () => {
    const held: RawConnection[] = [];
    const body = randomBytes(MEBIBYTE / 2 - 64).toString('hex');
    await target.withstands(
      async () => {
        for (let i = 0; i < 150; i++) {
          const connection = await RawConnection.open(target.url);
          held.push(connection);
          connection.send(requestText('POST', PATH, { ...JSON_TYPE, 'content-length': MEBIBYTE }, `{"a":"${body}`));
        }
        await Promise.all(held.map((connection) => connection.closed()));
      },
      { memoryMb: 32 },
    );
    expect(new Set(held.flatMap(({ statuses }) => statuses))).toEqual(new Set([401]));
  });

  it('has no large bodies parsed', async () => {
    const body = JSON.stringify({ a: times(200_000).map((i) => i % 10) }).padEnd(MEBIBYTE - 1, ' ');
    const statuses = new Set<number | undefined>();
    await target.withstands(() =>
      during(ATTACK_MS, 40, async () => {
        statuses.add(await post({}, body));
        await sleep(100);
      }),
    );
    expect(statuses.has(401)).toBe(true);
    expect(statuses.has(400)).toBe(false);
  });

  it('keeps nobody out by connections that send nothing or their headers slowly', async () => {
    const held: RawConnection[] = [];
    await target.withstands(
      async () => {
        for (let i = 0; i < 3 * MAX_STRANGERS; i++) {
          // A service on loopback sees as many addresses as there are in 127.0.0.0/8.
          const connection = await RawConnection.open(target.url, `127.0.${i % 20}.2`);
          held.push(connection);
          if (i % 2 === 0) connection.send('GET /health/live HTTP/1.1\r\nhost: a');
        }
        await sleep(1_000);
      },
      { memoryMb: 48 },
    );
    await eventually(() => expect(held.filter(({ ended }) => !ended).length).toBeLessThanOrEqual(MAX_STRANGERS));
    for (const connection of held) connection.close();
  });

  it('keeps nobody out by keys that nobody has', async () => {
    const statuses = new Set<number | undefined>();
    await target.withstands(() =>
      during(ATTACK_MS, 10, async () => {
        statuses.add(await post({ authorization: `Bearer ${generateApiKey()}` }, '{}'));
      }),
    );
    expect(statuses.has(401)).toBe(true);
    expect(statuses.has(200)).toBe(false);
  });

  it('keeps nobody out by connections that nobody has', async () => {
    const statuses = new Set<number>();
    await target.withstands(() =>
      during(ATTACK_MS, 10, async () => {
        const answer = await fetch(`${target.url}/api/default/mcp/${randomUUID()}`, {
          method: 'POST',
          headers: JSON_TYPE,
          body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        });
        statuses.add(answer.status);
        await answer.body?.cancel();
      }),
    );
    expect(statuses.has(401)).toBe(true);
    expect(statuses.has(200)).toBe(false);
  });

  it('keeps nobody out by requests that wait for no answer', async () => {
    const probes = requestText('GET', '/health/ready').repeat(500);
    await target.withstands(() =>
      during(ATTACK_MS, 5, async () => {
        const connection = await RawConnection.open(target.url);
        connection.send(probes);
        await connection.closed();
        connection.close();
        await sleep(20);
      }),
    );
  });
});
