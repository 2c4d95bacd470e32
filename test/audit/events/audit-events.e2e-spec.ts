import { beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { personAsActor } from '../../../src/audit/events/audit-event.js';
import type { AuditEventItem } from '../../../src/audit/events/audit-event.dto.js';
import { AuditEventRepository } from '../../../src/audit/events/audit-event.repository.js';
import { Names } from '../../../src/core/names/names.js';
import { AuditEvents } from '../../../src/audit/events/audit-events.js';
import { newId } from '../../../src/core/ids.js';
import { startTestApp } from '../../support/app.js';
import { expectProblem } from '../../support/problem.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(startTestApp);
let database: DataSource;
let other: Awaited<ReturnType<typeof startSecondOrganization>>;
let organizationId: string;

beforeAll(async () => {
  database = service.app.get(DataSource);
  other = await startSecondOrganization(service, 'other');
  const [own] = await database.query(`SELECT id FROM organizations WHERE slug = 'default'`);
  organizationId = own.id as string;
});

/** The events about a target, newest first. */
async function eventsOf(targetId: string): Promise<AuditEventItem[]> {
  const where = { field: ['target_id'], operator: 'eq', value: targetId };
  return (await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200)).body.items;
}

async function makeUser(email: string, organizations: readonly string[]): Promise<string> {
  const id = newId();
  await database.query('INSERT INTO users (id, name, email) VALUES ($1, $2, $2)', [id, email]);
  for (const organization of organizations) {
    await database.query(`INSERT INTO members (organization_id, user_id, role) VALUES ($1, $2, 'member')`, [
      organization,
      id,
    ]);
  }
  return id;
}

const recorder = (): AuditEvents => service.app.get(AuditEvents, { strict: false });

describe('events of API keys', () => {
  it('show who made, changed and deleted a key, and what changed', async () => {
    const maker = (
      await service.tool('API_KEY_CREATE', {
        name: 'maker',
        permissions: { self: ['API_KEY_CREATE', 'API_KEY_UPDATE', 'API_KEY_DELETE'] },
      })
    ).body;
    const permissions = { self: ['API_KEY_CREATE'] };
    const made = await service.tool('API_KEY_CREATE', { name: 'first', permissions }, maker.key).expect(200);
    const { id } = made.body;
    await service.tool('API_KEY_UPDATE', { id, name: 'second' }, maker.key).expect(200);
    await service.tool('API_KEY_UPDATE', { id, name: 'second' }, maker.key).expect(200);
    await service.tool('API_KEY_DELETE', { id }, maker.key).expect(200);
    await service.tool('API_KEY_DELETE', { id: maker.id }).expect(200);

    const [deleted, repeated, updated, created] = await eventsOf(id);
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      at: expect.stringMatching(/Z$/),
      event: 'key.created',
      actor: { user_id: null, user_email: null, api_key_id: maker.id, key_name: 'maker', client_id: null },
      source: expect.stringMatching(/^(::ffff:)?127\.0\.0\.1$/),
      target: { type: 'key', id, name: 'first' },
      changes: {
        name: { to: 'first' },
        permissions: { to: permissions },
        expires_at: { to: null },
        rate_limit: { to: null },
        spend: { to: null },
      },
    });
    expect(updated).toMatchObject({
      event: 'key.updated',
      target: { name: 'second' },
      changes: { name: { from: 'first', to: 'second' } },
    });
    expect(repeated).toMatchObject({ event: 'key.updated', changes: {} });
    expect(deleted).toMatchObject({ event: 'key.deleted', changes: { permissions: { from: permissions } } });
    const text = JSON.stringify([deleted, updated, created]);
    expect(text).not.toContain(made.body.key);
    expect(text).not.toContain(made.body.key.slice(0, 12));
  });

  it('include the first key, which nobody made', async () => {
    const where = { field: ['target_name'], operator: 'eq', value: 'bootstrap' };
    const { body } = await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200);
    expect(body.items).toMatchObject([
      { event: 'key.created', actor: { api_key_id: null, user_id: null }, source: null },
    ]);
  });

  it('do not exist for a change that is refused', async () => {
    const { body: weak } = await service.tool('API_KEY_CREATE', {
      name: 'weak',
      permissions: { self: ['API_KEY_UPDATE'] },
    });
    const { body: strong } = await service.tool('API_KEY_CREATE', { name: 'strong', permissions: { '*': ['*'] } });
    expectProblem(
      await service.tool('API_KEY_UPDATE', { id: strong.id, name: 'mine' }, weak.key),
      403,
      'permission_widening',
    );
    expect((await eventsOf(strong.id)).map(({ event }) => event)).toEqual(['key.created']);
  });
});

it('events of roles show every permission, also those whose names resemble the names of secrets', async () => {
  const permissions = { self: ['API_KEY_CREATE', 'API_KEY_LIST', 'THREAD_TOKEN_CREATE', 'OAUTH_GRANT_LIST'] };
  await service.tool('ROLE_CREATE', { name: 'key-maker', permissions }).expect(200);
  const where = { field: ['event'], operator: 'eq', value: 'role.created' };
  const { body } = await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200);
  expect(body.items[0]).toMatchObject({ target: { name: 'key-maker' }, changes: { permissions: { to: permissions } } });
});

it('events of AI providers and tiers contain no provider key', async () => {
  const data = { title: 'Models', kind: 'openai', api_key: 'sk-first-secret' };
  const { id } = (await service.tool('AI_PROVIDER_CREATE', { data }).expect(200)).body.item;
  await service
    .tool('AI_PROVIDER_UPDATE', { id, data: { title: 'More models', api_key: 'sk-second-secret' } })
    .expect(200);
  await service.tool('AI_PROVIDER_UPDATE', { id, data: { api_key: null } }).expect(200);
  await service
    .tool('MODEL_TIERS_SET', { data: { fast: { provider_id: id, model: 'small' }, smart: null } })
    .expect(200);
  await service.tool('AI_PROVIDER_DELETE', { id }).expect(200);
  const events = await eventsOf(id);
  expect(events).toMatchObject([
    { event: 'provider.deleted', target: { type: 'provider', name: 'More models' } },
    { event: 'provider.updated', changes: { key: 'removed' } },
    { event: 'provider.updated', changes: { title: { from: 'Models', to: 'More models' }, key: 'set' } },
    { event: 'provider.created', changes: { title: { to: 'Models' }, kind: { to: 'openai' }, key: 'set' } },
  ]);
  const where = { field: ['event'], operator: 'eq', value: 'provider.tiers_set' };
  const { body } = await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200);
  expect(body.items).toMatchObject([
    {
      target: { type: 'tiers', id: null },
      changes: { fast: { to: { provider_id: id, model: 'small' } }, smart: { to: null } },
    },
  ]);
  expect(JSON.stringify([events, body])).not.toContain('secret');
});

describe('sign-ins', () => {
  it('that fail show in every organization of that e-mail address, and in none for an unknown one', async () => {
    const both = await makeUser('Both@example.com', [organizationId, other.id]);
    await makeUser('elsewhere@example.com', [other.id]);
    await recorder().recordFailedSignIn('both@EXAMPLE.com');
    await recorder().recordFailedSignIn('elsewhere@example.com');
    await recorder().recordFailedSignIn('stranger@example.com');
    const where = { field: ['event'], operator: 'eq', value: 'login.failed' };
    const own = (await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200)).body;
    const foreign = (await other.tool('AUDIT_EVENTS_LIST', { where }).expect(200)).body;
    const target = { type: 'user', id: both, name: 'Both@example.com' };
    expect(own.items).toMatchObject([{ target, actor: { user_id: null } }]);
    expect(foreign.items).toMatchObject([{ target: { name: 'elsewhere@example.com' } }, { target }]);
  });

  it('show the person, also when the user was deleted since', async () => {
    const id = await makeUser('gone@example.com', [organizationId]);
    const event = { event: 'login.succeeded', actor: personAsActor(id), target: null, source: '192.0.2.7' } as const;
    await recorder().recordForMember(id, event);
    await database.query('DELETE FROM users WHERE id = $1', [id]);
    const where = { field: ['user_id'], operator: 'eq', value: id };
    expect((await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200)).body.items).toMatchObject([
      {
        event: 'login.succeeded',
        actor: { user_id: id, user_email: 'gone@example.com' },
        source: '192.0.2.7',
        target: null,
      },
    ]);
  });
});

it('an event of a transaction that fails is not on record', async () => {
  const id = newId();
  const target = { type: 'role', id, name: 'rolled back' } as const;
  const work = database.transaction(async (manager) => {
    await recorder().record(organizationId, { event: 'role.created', actor: personAsActor(newId()), target }, manager);
    throw new Error('The change fails.');
  });
  await expect(work).rejects.toThrow('The change fails.');
  expect(await eventsOf(id)).toEqual([]);
});

describe('AUDIT_EVENTS_LIST', () => {
  it('requires its permission and shows only its own organization', async () => {
    const { body } = await service.tool('API_KEY_CREATE', { name: 'none', permissions: { self: ['API_KEY_LIST'] } });
    expectProblem(await service.tool('AUDIT_EVENTS_LIST', {}, body.key), 403, 'permission_denied');
    const { items } = (await other.tool('AUDIT_EVENTS_LIST', { limit: 1000 }).expect(200)).body;
    expect((items as AuditEventItem[]).some(({ target }) => target?.id === body.id)).toBe(false);
  });

  it('pages through events with cursors', async () => {
    const where = { field: ['event'], operator: 'eq', value: 'key.created' };
    const all = (await service.tool('AUDIT_EVENTS_LIST', { where }).expect(200)).body;
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await service.tool('AUDIT_EVENTS_LIST', { where, limit: 2, cursor }).expect(200);
      seen.push(...(page.body.items as AuditEventItem[]).map(({ id }) => id));
      cursor = page.body.nextCursor as string | null;
    } while (cursor !== null);
    expect(seen).toEqual(all.items.map(({ id }: AuditEventItem) => id));
    expect(seen.length).toBe(all.totalCount);
  });

  it('rejects a filter by unpublished fields', async () => {
    const where = { field: ['changes'], operator: 'eq', value: 'x' };
    expectProblem(await service.tool('AUDIT_EVENTS_LIST', { where }), 400, 'invalid_request');
  });
});

it('events and the names of deleted things end with the retention time', async () => {
  const id = newId();
  const target = { type: 'role', id, name: 'kept' } as const;
  await recorder().record(organizationId, { event: 'role.deleted', actor: personAsActor(newId()), target });
  const sweep = async (now: Date): Promise<void> => {
    await service.app.get(AuditEventRepository, { strict: false }).deleteExpired(now);
    await service.app.get(Names, { strict: false }).deleteExpired(now);
  };
  const names = async (): Promise<number> => (await database.query('SELECT id FROM deleted_names')).length;
  const DAY_MS = 86_400_000;
  await sweep(new Date(Date.now() + 89 * DAY_MS));
  expect(await eventsOf(id)).toHaveLength(1);
  expect(await names()).toBeGreaterThan(0);
  await sweep(new Date(Date.now() + 91 * DAY_MS));
  expect(await eventsOf(id)).toEqual([]);
  expect(await names()).toBe(0);
});
