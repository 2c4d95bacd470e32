import { describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { createAgent, createThread, ThreadClient } from '../../support/agent-runs.js';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { keyWith } from '../../support/proxy-connections.js';
import { eventually } from '../../support/eventually.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useStarted } from '../../support/use-started.js';

const EVERYTHING = { self: ['*'], '*': ['*'] };

const service = useStarted(newTenant);

const list = (key: string): supertest.Test => service.tool('API_KEY_LIST', {}, key);

async function limitedKey(per_minute: number, permissions: Record<string, string[]> = EVERYTHING): Promise<string> {
  return keyWith(service, permissions, { rate_limit: { per_minute } });
}

async function idOf(key: string): Promise<string> {
  const { body } = await list(service.apiKey);
  return body.items.find(({ prefix }: { prefix: string }) => key.startsWith(prefix)).id;
}

/** Lifts the organization's limits. Every key is cached for less than a second. */
async function liftLimits(...keys: string[]): Promise<void> {
  await updateOrganization({ limits: null });
  for (const key of [service.apiKey, ...keys]) {
    await eventually(async () => {
      const policy: string | undefined = (await list(key)).headers['ratelimit-policy'];
      return !policy?.includes('"organization"');
    });
  }
}

async function updateOrganization(data: object): Promise<void> {
  await service.tool('ORGANIZATION_UPDATE', data).expect(200);
}

describe('the rate limit of a key', () => {
  it('shows its state on every response, and refuses more requests with 429', async () => {
    const key = await limitedKey(3);
    for (const left of [2, 1, 0]) {
      const { headers } = await list(key).expect(200);
      expect(headers['ratelimit-policy']).toBe('"key";q=3;w=60');
      expect(headers['ratelimit']).toMatch(new RegExp(`^"key";r=${left};t=([1-9]|[1-5][0-9]|60)$`));
      expect(headers['retry-after']).toBeUndefined();
    }
    const refused = await list(key);
    expectProblem(refused, 429, 'rate_limited');
    expect(refused.headers).toMatchObject({
      'ratelimit-policy': '"key";q=3;w=60',
      ratelimit: expect.stringMatching(/^"key";r=0;t=\d+$/),
      'retry-after': expect.stringMatching(/^([1-9]|[1-5][0-9]|60)$/),
    });
  });

  it('is one limit for all keys that were made with the key, whoever made them', async () => {
    const make = async (maker: string): Promise<string> => {
      const child = { name: 'child', permissions: EVERYTHING, rate_limit: { per_minute: 5 } };
      return (await service.tool('API_KEY_CREATE', child, maker).expect(200)).body.key;
    };
    const key = await limitedKey(5);
    const child = await make(key);
    const grandchild = await make(child);
    const { headers } = await list(grandchild).expect(200);
    expect(headers['ratelimit-policy']).toBe('"key";q=5;w=60, "maker";q=5;w=60, "maker";q=5;w=60');
    await list(child).expect(200);
    await list(key).expect(200);
    for (const each of [grandchild, child, key]) expectProblem(await list(each), 429, 'rate_limited');
  });

  it('counts on for the keys that a deleted key leaves behind, together', async () => {
    const key = await limitedKey(6);
    const make = async (): Promise<string> => {
      const child = { name: 'child', permissions: EVERYTHING, rate_limit: { per_minute: 6 } };
      return (await service.tool('API_KEY_CREATE', child, key).expect(200)).body.key;
    };
    const children = [await make(), await make()];
    const id = await idOf(key);
    await service.tool('API_KEY_DELETE', { id, children: 'keep' }, key).expect(200);
    const answers: number[] = [];
    for (let n = 0; n < 4; n++) answers.push((await list(children[n % 2]!)).status);
    expect(answers).toEqual([200, 200, 200, 429]);
  });

  it('of a maker cannot be raised by a key that it made before it was limited', async () => {
    const key = await keyWith(service, EVERYTHING);
    const child: string = (await service.tool('API_KEY_CREATE', { name: 'child', permissions: EVERYTHING }, key)).body
      .key;
    const id = await idOf(key);
    await service.tool('API_KEY_UPDATE', { id, rate_limit: { per_minute: 50 } }).expect(200);
    for (const rate_limit of [null, { per_minute: 51 }]) {
      expectProblem(await service.tool('API_KEY_UPDATE', { id, rate_limit }, child), 403, 'permission_widening');
    }
    await service.tool('API_KEY_DELETE', { id, children: 'keep' }, child).expect(200);
    await eventually(async () => {
      expect((await list(child)).headers['ratelimit-policy']).toBe('"maker";q=50;w=60');
    });
  });

  it('counts requests at every route, those that the caller is denied, and the MCP endpoints', async () => {
    const key = await limitedKey(4, { self: ['THREAD_COPY'] });
    await list(key).expect(403);
    await supertest(service.url)
      .get('/api/other/tools')
      .set('authorization', `Bearer ${key}`)
      .expect(403)
      .expect('ratelimit', /r=2/);
    const mcp = (): supertest.Test =>
      supertest(service.url)
        .post(`/api/${service.org}/mcp/self`)
        .set({ authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' })
        .send({ jsonrpc: '2.0', id: 7, method: 'ping' });
    await mcp().expect('ratelimit', /r=1/);
    await supertest(service.url)
      .post(`/api/${service.org}/tools/X`)
      .set('authorization', `Bearer ${key}`)
      .expect('ratelimit', /r=0/);
    const refused = await mcp().expect(429);
    expect(refused.body).toMatchObject({ error: { code: -32000, data: { code: 'rate_limited' } } });
    expect(refused.headers['retry-after']).toBeDefined();
  });

  it('does not count requests without a valid credential', async () => {
    const key = await limitedKey(2);
    await list(key).expect(200);
    const wrong = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    for (let n = 0; n < 5; n++) await list(wrong).expect(401);
    await list(key).expect(200);
    await list(key).expect(429);
  });

  it('is listed, can be changed while its window runs, and is cleared with null', async () => {
    const key = await limitedKey(2);
    const id = await idOf(key);
    await list(key).expect(200);
    await list(key).expect(200);
    const update = (rate_limit: unknown): supertest.Test => service.tool('API_KEY_UPDATE', { id, rate_limit });
    expect((await update({ per_minute: 5 }).expect(200)).body.item.rate_limit).toEqual({ per_minute: 5 });
    await list(key).expect(200).expect('ratelimit', /r=2/);
    await update({ per_minute: 1 }).expect(200);
    await list(key).expect(429);
    expect((await update({ per_minute: null }).expect(200)).body.item.rate_limit).toBeNull();
    const { headers } = await list(key).expect(200);
    expect(headers['ratelimit']).toBeUndefined();
    await update({ per_minute: 1 }).expect(200);
    await list(key).expect(429);
    expect((await update(null).expect(200)).body.item.rate_limit).toBeNull();
    await list(key).expect(200);
  });

  it.each([{ per_minute: 0 }, { per_minute: -1 }, { per_minute: 1.5 }, { per_minute: '5' }, { per_hour: 5 }, 5])(
    'must be a whole number from 1: not %j',
    async (rate_limit) => {
      const body = { name: 'key', permissions: {}, rate_limit };
      expect((await service.tool('API_KEY_CREATE', body)).status).toBe(400);
    },
  );

  it('cannot be lifted by the key itself, nor for a key that it makes', async () => {
    const key = await limitedKey(100);
    const create = (more: object): supertest.Test =>
      service.tool('API_KEY_CREATE', { name: 'made', permissions: {}, ...more }, key);
    for (const rate_limit of [undefined, null, {}, { per_minute: null }, { per_minute: 101 }]) {
      expectProblem(await create({ rate_limit }), 403, 'permission_widening');
    }
    const { body } = await create({ rate_limit: { per_minute: 100 } }).expect(200);
    expect(body.rate_limit).toEqual({ per_minute: 100 });
    for (const id of [await idOf(key), body.id as string]) {
      for (const rate_limit of [null, { per_minute: null }, { per_minute: 101 }]) {
        const update = await service.tool('API_KEY_UPDATE', { id, rate_limit }, key);
        expectProblem(update, 403, 'permission_widening');
      }
      await service.tool('API_KEY_UPDATE', { id, rate_limit: { per_minute: 99 } }, key).expect(200);
    }
  });

  it('is shared by the browser tokens that the key makes', async () => {
    const thread = await createThread(service, await createAgent(service));
    const key = await limitedKey(2);
    const { body } = await service
      .tool('THREAD_TOKEN_CREATE', { thread_id: thread, permissions: ['read'] }, key)
      .expect(200);
    await service
      .tool('COLLECTION_THREADS_GET', { id: thread }, body.token)
      .expect(200)
      .expect('ratelimit', /"key";r=0/);
    await service.tool('COLLECTION_THREADS_GET', { id: thread }, body.token).expect(429);
    await list(key).expect(429);
  });
});

describe('the limits of an organization', () => {
  it('count the requests of all its keys, and do not stop their own change', async () => {
    const [first, second] = [await keyWith(service, EVERYTHING), await limitedKey(1000)];
    const other = await startSecondOrganization(service, 'unlimited');
    await updateOrganization({ limits: { requests_per_minute: 6 } });
    try {
      // Keys are cached for less than a second.
      await eventually(async () => expect((await list(first)).headers['ratelimit']).toBeDefined());
      const policies = new Set<string | undefined>();
      await eventually(async () => {
        const { status, headers } = await list(second);
        policies.add(headers['ratelimit-policy']);
        expect(status).toBe(429);
      });
      expect([...policies]).toEqual(['"key";q=1000;w=60, "organization";q=6;w=60']);
      expectProblem(await list(first), 429, 'rate_limited');
      await other.tool('API_KEY_LIST', {}).expect(200);
      const { body, headers } = await service.tool('ORGANIZATION_GET').expect(200);
      expect(body.item.limits).toEqual({ requests_per_minute: 6 });
      expect(headers['ratelimit']).toBeUndefined();
    } finally {
      await liftLimits(first, second);
    }
    expect((await service.tool('ORGANIZATION_GET')).body.item.limits).toEqual({});
  });

  it('count requests for runs', async () => {
    const thread = await ThreadClient.create(service, await createAgent(service));
    await updateOrganization({ limits: { runs_per_minute: 2 } });
    try {
      const post = async (): Promise<supertest.Response> => thread.post(thread.request('hello'));
      await eventually(async () => {
        const { body } = await service.tool('ORGANIZATION_GET');
        expect(body.item.limits.runs_per_minute).toBe(2);
      });
      await eventually(async () => expect((await post()).status).toBe(429));
      const refused = await post();
      expectProblem(refused, 429, 'rate_limited');
      expect(refused.headers['ratelimit-policy']).toBe('"runs";q=2;w=60');
      await service.tool('API_KEY_LIST').expect(200);
    } finally {
      await liftLimits();
    }
  });

  it('can be lowered by callers with the permission, and lifted only with all management tools', async () => {
    const editor = await keyWith(service, { self: ['ORGANIZATION_UPDATE'] });
    const update = (limits: object | null): supertest.Test => service.tool('ORGANIZATION_UPDATE', { limits }, editor);
    await update({ requests_per_minute: 100_000, waiting_runs: 50 }).expect(200);
    await update({ requests_per_minute: 90_000 }).expect(200);
    for (const limits of [null, { requests_per_minute: null }, { requests_per_minute: 90_001 }, { waiting_runs: 51 }]) {
      expectProblem(await update(limits), 403, 'permission_widening');
    }
    await liftLimits();
  });

  it.each([
    { requests_per_minute: 0 },
    { concurrent_runs: 0 },
    { waiting_runs: 0 },
    { runs_per_minute: 0.5 },
    { x: 1 },
  ])('must be whole numbers from 1: not %j', async (limits) => {
    expect((await service.tool('ORGANIZATION_UPDATE', { limits })).status).toBe(400);
  });
});

it('applies the caps of the operator to each organization, and the lower of cap and limit', async () => {
  const capped = await newTenant({ LIMIT_REQUESTS_PER_MINUTE: '4' });
  try {
    const list = (): supertest.Test => capped.tool('API_KEY_LIST');
    await list().expect('ratelimit-policy', '"organization";q=4;w=60').expect('ratelimit', /r=3/);
    await capped.tool('ORGANIZATION_UPDATE', { limits: { requests_per_minute: 100 } }).expect(200);
    await list().expect('ratelimit-policy', '"organization";q=4;w=60');
    const other = await startSecondOrganization(capped, 'other');
    await other.tool('API_KEY_LIST', {}).expect(200).expect('ratelimit', /r=3/);
    await list().expect(200);
    await list().expect(200);
    await list().expect(429);
  } finally {
    await capped.close();
  }
});
