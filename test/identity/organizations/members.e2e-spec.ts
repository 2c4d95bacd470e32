import { beforeAll, describe, expect, it } from '@jest/globals';
import { newEmail } from '../sign-in/people.js';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { addKeyHolder, findMember, invite, pathOf, type Person } from './organizations.support.js';
import { eventually } from '../../support/eventually.js';
import { useStarted, useTenantOfTwo } from '../../support/use-started.js';

const [service, elsewhere] = useTenantOfTwo();
/** Another process of the service. */
let owner: Person;
let admin: Person;

beforeAll(async () => {
  owner = await addKeyHolder(service, 'owner');
  admin = await addKeyHolder(service, 'admin');
});

describe('MEMBER_INVITE and MEMBER_LIST', () => {
  it('lists members and invitations', async () => {
    const email = newEmail();
    const answer = await service.tool('MEMBER_INVITE', { email, role: 'member' }, owner.key).expect(200);
    const item = { id: expect.any(String), user_id: null, email, name: null, role: 'member', status: 'invited' };
    expect(answer.body).toEqual({
      item: { ...item, created_at: expect.any(String), spend: null },
      invitation_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/invitation\?token=[\w-]{43}$/),
    });
    expect(await findMember(service, email)).toEqual(answer.body.item);
    expect(await findMember(service, admin.email)).toMatchObject({
      status: 'active',
      role: 'admin',
      user_id: admin.userId,
    });
  });

  it('refuses a member, an unknown role and a malformed address', async () => {
    const ask = (input: object) => service.tool('MEMBER_INVITE', input);
    expectProblem(await ask({ email: admin.email.toUpperCase(), role: 'member' }), 409, 'conflict');
    expectProblem(await ask({ email: newEmail(), role: 'nobody' }), 400, 'invalid_request');
    expectProblem(await ask({ email: 'no address', role: 'member' }), 400, 'invalid_request');
  });

  it('replaces an earlier invitation', async () => {
    const email = newEmail();
    const first = await invite(service, email);
    const second = await invite(service, email.toUpperCase(), 'admin');
    expect((await fetch(service.url + first)).status).toBe(404);
    expect((await fetch(service.url + second)).status).toBe(200);
  });
});

describe('the rights to decide about others', () => {
  it('let an admin decide about everyone but owners', async () => {
    expectProblem(
      await service.tool('MEMBER_INVITE', { email: newEmail(), role: 'owner' }, admin.key),
      403,
      'permission_widening',
    );
    const other = await addKeyHolder(service, 'member');
    await service.tool('MEMBER_UPDATE', { id: other.memberId, role: 'admin' }, admin.key).expect(200);
    for (const [tool, input] of [
      ['MEMBER_UPDATE', { id: other.memberId, role: 'owner' }],
      ['MEMBER_UPDATE', { id: owner.memberId, role: 'member' }],
      ['MEMBER_REMOVE', { id: owner.memberId }],
      ['MEMBER_RESET', { id: owner.memberId }],
    ] as const) {
      // A second owner, so that the last one is not the reason.
      await addKeyHolder(service, 'owner');
      expectProblem(await service.tool(tool, input, admin.key), 403, 'permission_widening');
    }
    const pending = newEmail();
    await invite(service, pending, 'owner', owner.key);
    const { id } = await findMember(service, pending);
    expectProblem(await service.tool('MEMBER_REMOVE', { id }, admin.key), 403, 'permission_widening');
    expectProblem(
      await service.tool('MEMBER_INVITE', { email: pending, role: 'member' }, admin.key),
      403,
      'permission_widening',
    );
  });

  it('do not reach beyond the permissions of the caller', async () => {
    const permissions = {
      self: [
        'MEMBER_INVITE',
        'MEMBER_UPDATE',
        'MEMBER_REMOVE',
        'MEMBER_RESET',
        'ROLE_CREATE',
        'ROLE_UPDATE',
        'ORGANIZATION_UPDATE',
      ],
    };
    await service.tool('ROLE_CREATE', { name: 'recruiter', permissions }).expect(200);
    await service.tool('ROLE_CREATE', { name: 'wider', permissions: { self: ['API_KEY_CREATE'] } }).expect(200);
    const recruiter = await addKeyHolder(service, 'recruiter');
    const other = await addKeyHolder(service, 'wider');
    const ask = (tool: string, input: object) => service.tool(tool, input, recruiter.key);
    await ask('MEMBER_INVITE', { email: newEmail(), role: 'recruiter' }).expect(200);
    for (const [tool, input] of [
      ['MEMBER_INVITE', { email: newEmail(), role: 'wider' }],
      ['MEMBER_INVITE', { email: newEmail(), role: 'admin' }],
      ['MEMBER_UPDATE', { id: other.memberId, role: 'member' }],
      ['MEMBER_REMOVE', { id: other.memberId }],
      ['MEMBER_RESET', { id: other.memberId }],
      ['ROLE_CREATE', { name: 'x', permissions: { self: ['*'] } }],
      ['ROLE_UPDATE', { name: 'recruiter', permissions: { '*': ['*'] } }],
      ['ROLE_UPDATE', { name: 'wider', permissions: {} }],
      ['ORGANIZATION_UPDATE', { member_permissions: { self: ['API_KEY_LIST'] } }],
    ] as const) {
      expectProblem(await ask(tool, input), 403, 'permission_widening');
    }
  });

  it('of nobody reach their own role', async () => {
    expectProblem(
      await service.tool('MEMBER_UPDATE', { id: admin.memberId, role: 'member' }, admin.key),
      403,
      'permission_denied',
    );
    const second = await addKeyHolder(service, 'owner');
    expectProblem(
      await service.tool('MEMBER_UPDATE', { id: second.memberId, role: 'admin' }, second.key),
      403,
      'permission_denied',
    );
  });

  it('of a narrow key do not reach the password of its own person', async () => {
    const { memberId, key } = await addKeyHolder(service, 'owner', { self: ['MEMBER_RESET'] });
    expectProblem(await service.tool('MEMBER_RESET', { id: memberId }, key), 403, 'permission_widening');
    await service.tool('MEMBER_RESET', { id: owner.memberId }, owner.key).expect(200);
  });

  it('do not raise the role of an invitation, whose link somebody with fewer rights may have', async () => {
    await service.tool('ROLE_CREATE', { name: 'inviter', permissions: { self: ['MEMBER_INVITE'] } }).expect(200);
    const inviter = await addKeyHolder(service, 'inviter');
    const email = newEmail();
    const former = await invite(service, email, 'inviter', inviter.key);
    const { id } = await findMember(service, email);
    for (const role of ['admin', 'owner']) {
      expectProblem(await service.tool('MEMBER_UPDATE', { id, role }, owner.key), 409, 'conflict');
    }
    await service.tool('MEMBER_UPDATE', { id, role: 'member' }, owner.key).expect(200);
    expect((await fetch(service.url + former)).status).toBe(200);
    await invite(service, email, 'admin', owner.key);
    expect((await fetch(service.url + former)).status).toBe(404);
    const { id: ofAdmin } = await findMember(service, email);
    expectProblem(await service.tool('MEMBER_UPDATE', { id: ofAdmin, role: 'owner' }, owner.key), 409, 'conflict');
  });

  it('end with a key of the person that was deleted meanwhile', async () => {
    const other = await addKeyHolder(service, 'admin');
    await service.tool('MEMBER_LIST', {}, other.key).expect(200);
    await service.tool('MEMBER_REMOVE', { id: other.memberId }, owner.key).expect(200);
    expectProblem(
      await service.tool('MEMBER_INVITE', { email: newEmail(), role: 'admin' }, other.key),
      401,
      'credential_invalid',
    );
  });
});

describe('removing a member', () => {
  it('ends the keys of the person in every process, within a second', async () => {
    const person = await addKeyHolder(service, 'admin');
    await elsewhere.tool('MEMBER_LIST', {}, person.key).expect(200);
    await service.tool('MEMBER_REMOVE', { id: person.memberId }, owner.key).expect(200);
    const isRefused = async () => expect((await elsewhere.tool('MEMBER_LIST', {}, person.key)).status).toBe(401);
    await eventually(isRefused, 5_000);
    const rows = await service.query('SELECT FROM api_keys WHERE user_id = $1', [person.userId]);
    expect(rows).toEqual([]);
  });

  it('ends the invitations and reset links that the person made, and no others', async () => {
    const [maker, other] = [await addKeyHolder(service, 'admin'), await addKeyHolder(service, 'member')];
    const reset = async (key: string) =>
      pathOf((await service.tool('MEMBER_RESET', { id: other.memberId }, key).expect(200)).body.reset_url);
    const ended = [await invite(service, newEmail(), 'admin', maker.key), await reset(maker.key)];
    const kept = [await invite(service, newEmail(), 'admin', owner.key), await invite(service, newEmail())];
    for (const path of [...ended, ...kept]) expect((await fetch(service.url + path)).status).toBe(200);
    await service.tool('MEMBER_REMOVE', { id: maker.memberId }, owner.key).expect(200);
    for (const path of ended) expect((await fetch(service.url + path)).status).toBe(404);
    for (const path of [...kept, await reset(owner.key)]) expect((await fetch(service.url + path)).status).toBe(200);
  });

  it("is everyone's own right, and withdraws invitations too", async () => {
    await service.tool('ROLE_CREATE', { name: 'leaver', permissions: { self: ['MEMBER_REMOVE'] } }).expect(200);
    const person = await addKeyHolder(service, 'leaver');
    await service.tool('MEMBER_REMOVE', { id: person.memberId }, person.key).expect(200);
    const email = newEmail();
    const path = await invite(service, email);
    const { id } = await findMember(service, email);
    await service.tool('MEMBER_REMOVE', { id }).expect(200, { success: true, id });
    expect((await fetch(service.url + path)).status).toBe(404);
    expectProblem(await service.tool('MEMBER_REMOVE', { id }), 404, 'not_found');
  });
});

describe('a changed role', () => {
  it('ends the invitations and reset links of a person who holds less from then on', async () => {
    const visit = async (path: string) => (await fetch(service.url + path)).status;
    const links = async (key: string): Promise<string[]> => {
      const other = await addKeyHolder(service, 'member');
      const reset = await service.tool('MEMBER_RESET', { id: other.memberId }, key).expect(200);
      return [await invite(service, newEmail(), 'member', key), pathOf(reset.body.reset_url)];
    };
    const permissions = { self: ['MEMBER_INVITE', 'MEMBER_RESET'] };
    await service.tool('ROLE_CREATE', { name: 'revoked', permissions }).expect(200);
    const [admin, inviter, steady] = await Promise.all([
      addKeyHolder(service, 'admin'),
      addKeyHolder(service, 'revoked', permissions),
      addKeyHolder(service, 'admin'),
    ]);
    const [ofAdmin, ofInviter, ofSteady] = [await links(admin.key), await links(inviter.key), await links(steady.key)];
    for (const path of [...ofAdmin, ...ofInviter, ...ofSteady]) expect(await visit(path)).toBe(200);
    await service.tool('MEMBER_UPDATE', { id: admin.memberId, role: 'member' }).expect(200);
    await service.tool('ROLE_UPDATE', { name: 'revoked', permissions: { self: [] } }).expect(200);
    for (const path of [...ofAdmin, ...ofInviter]) expect(await visit(path)).toBe(404);
    for (const path of ofSteady) expect(await visit(path)).toBe(200);
  });

  it('takes effect on the keys of the person', async () => {
    const person = await addKeyHolder(service, 'admin');
    await service.tool('API_KEY_LIST', {}, person.key).expect(200);
    await service.tool('MEMBER_UPDATE', { id: person.memberId, role: 'member' }, owner.key).expect(200);
    const isRefused = async () => expect((await service.tool('API_KEY_LIST', {}, person.key)).status).toBe(403);
    await eventually(isRefused, 5_000);
  });
});

describe('the last owner', () => {
  const only = useStarted(newTenant);
  let owners: Person[];

  beforeAll(async () => {
    owners = [await addKeyHolder(only, 'owner'), await addKeyHolder(only, 'owner')];
  });

  it('cannot leave or be demoted, also when two leave at once', async () => {
    const leave = owners.map(({ memberId, key }) => only.tool('MEMBER_REMOVE', { id: memberId }, key));
    const statuses = (await Promise.all(leave)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 409]);
    const [last] = owners.filter((_, index) => statuses[index] === 409);
    expectProblem(await only.tool('MEMBER_REMOVE', { id: last?.memberId }, last?.key), 409, 'last_owner');
    expectProblem(await only.tool('MEMBER_REMOVE', { id: last?.memberId }), 409, 'last_owner');
    expectProblem(await only.tool('MEMBER_UPDATE', { id: last?.memberId, role: 'admin' }), 409, 'last_owner');
  });

  it('cannot be demoted by the other at once', async () => {
    const pair = [await addKeyHolder(only, 'owner'), await addKeyHolder(only, 'owner')] as const;
    const [third] = owners.filter(Boolean);
    void third;
    const { body } = await only.tool('MEMBER_LIST', { where: { field: ['role'], operator: 'eq', value: 'owner' } });
    const others = body.items.filter(({ id }: { id: string }) => !pair.some(({ memberId }) => memberId === id));
    for (const { id } of others) await only.tool('MEMBER_REMOVE', { id }).expect(200);
    const demotions = pair.map(({ key }, index) =>
      only.tool('MEMBER_UPDATE', { id: pair[1 - index]?.memberId, role: 'admin' }, key),
    );
    const statuses = (await Promise.all(demotions)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  });
});
