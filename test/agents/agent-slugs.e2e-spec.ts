import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAgent, succeed } from '../support/agent-runs.js';
import { newTenant, type Tenant } from '../support/tenant.js';

let app: Tenant;
let other: Tenant;

beforeAll(async () => {
  [app, other] = await Promise.all([newTenant(), newTenant()]);
});
afterAll(() => Promise.all([app?.close(), other?.close()]));

interface Agent {
  readonly id: string;
  readonly slug: string;
}

const agentOf = async (title: string, data: object = {}, of = app): Promise<Agent> => {
  const id = await createAgent(of, [], { title, ...data });
  return (await succeed<{ item: Agent }>(of, 'COLLECTION_VIRTUAL_MCP_GET', { id })).item;
};

const update = (id: string, data: object) => app.tool('COLLECTION_VIRTUAL_MCP_UPDATE', { id, data });

const TAKEN = { code: 'conflict', errors: [{ path: 'data.slug', code: 'conflict' }] };

describe('the slug of an agent', () => {
  it.each([
    ['Orders & Refunds', 'orders-refunds'],
    ['  Éclair für Ärzte! ', 'eclair-fur-arzte'],
    ['注文', 'agent'],
    ['x'.repeat(51) + ' tail', 'x'.repeat(51)],
    ['7a0e8a1c-5c2f-4d3b-9f5e-1f2d3c4b5a69', 'agent-7a0e8a1c-5c2f-4d3b-9f5e-1f2d3c4b5a69'],
    ['12345678-1234-0234-0234-123456789012', 'agent-12345678-1234-0234-0234-123456789012'],
  ])('is made of the title %j', async (title, slug) => {
    expect((await agentOf(title)).slug).toBe(slug);
  });

  it('has the first number that is free if other agents have the title, in this organization only', async () => {
    await agentOf('Third', { slug: 'twin-3' });
    const slugs = [];
    for (let count = 0; count < 4; count++) slugs.push((await agentOf('Twin')).slug);
    expect(slugs).toEqual(['twin', 'twin-2', 'twin-4', 'twin-5']);
    expect((await agentOf('Twin', {}, other)).slug).toBe('twin');
  });

  it('is its own for agents that are created with one title at once', async () => {
    const agents = await Promise.all(Array.from({ length: 8 }, () => agentOf('Crowd')));
    const expected = ['crowd', ...Array.from({ length: 7 }, (_, index) => `crowd-${index + 2}`)];
    expect(agents.map(({ slug }) => slug).toSorted()).toEqual(expected);
  });

  it('stays when the title changes, and changes on demand', async () => {
    const { id } = await agentOf('Before');
    expect((await update(id, { title: 'After' })).body).toMatchObject({ item: { title: 'After', slug: 'before' } });
    expect((await update(id, { slug: 'later-on' })).body).toMatchObject({ item: { title: 'After', slug: 'later-on' } });
    expect((await update(id, { slug: 'later-on' })).status).toBe(200);
    expect((await agentOf('Before')).slug).toBe('before');
  });

  it('is refused if another agent has it, for one of several requests at once too', async () => {
    await agentOf('Owner', { slug: 'owned' });
    const { id } = await agentOf('Envious');
    const refused = await update(id, { title: 'Changed', slug: 'owned' });
    expect({ status: refused.status, body: refused.body }).toMatchObject({ status: 409, body: TAKEN });
    const { item } = await succeed<{ item: object }>(app, 'COLLECTION_VIRTUAL_MCP_GET', { id });
    expect(item).toMatchObject({ title: 'Envious', slug: 'envious' });
    const create = () => app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'New', slug: 'wanted' } });
    const answers = await Promise.all([create(), create(), update(id, { slug: 'wanted' })]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    expect(answers.filter(({ status }) => status === 409).map(({ body }) => body as object)).toMatchObject([
      TAKEN,
      TAKEN,
    ]);
  });

  it.each([['Upper'], ['two words'], ['-a'], ['a-'], ['a--b'], [''], ['a'.repeat(64)], [randomUUID()], [null], [5]])(
    'cannot be %j',
    async (slug) => {
      const answer = await app.tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: { title: 'New', slug } });
      expect({ status: answer.status, body: answer.body }).toMatchObject({
        status: 400,
        body: { errors: expect.arrayContaining([expect.objectContaining({ path: 'data.slug' })]) },
      });
    },
  );
});
