import { describe, expect, it } from '@jest/globals';
import { newTenant } from '../../support/tenant.js';
import { expectProblem } from '../../support/problem.js';
import { addKeyHolder } from './organizations.support.js';
import { eventually } from '../../support/eventually.js';
import { useStarted } from '../../support/use-started.js';

const service = useStarted(newTenant);

describe('roles', () => {
  const permissions = { self: ['API_KEY_LIST'] };

  it('are created, listed, updated and deleted', async () => {
    const item = { name: 'auditor', permissions, built_in: false };
    await service.tool('ROLE_CREATE', { name: 'auditor', permissions }).expect(200, { item });
    const { body } = await service.tool('ROLE_LIST').expect(200);
    expect(body.items.map(({ name }: { name: string }) => name)).toEqual(['owner', 'admin', 'member', 'auditor']);
    await service.tool('ROLE_UPDATE', { name: 'auditor', permissions: {} }).expect(200);
    await service.tool('ROLE_DELETE', { name: 'auditor' }).expect(200, { success: true, name: 'auditor' });
    expectProblem(await service.tool('ROLE_DELETE', { name: 'auditor' }), 404, 'not_found');
    expectProblem(await service.tool('ROLE_UPDATE', { name: 'auditor', permissions }), 404, 'not_found');
  });

  it('have unique names, and none of a built-in role', async () => {
    await service.tool('ROLE_CREATE', { name: 'unique', permissions }).expect(200);
    for (const name of ['unique', 'owner', 'admin', 'member', 'Owner']) {
      expectProblem(await service.tool('ROLE_CREATE', { name, permissions }), 409, 'conflict');
    }
    expectProblem(await service.tool('ROLE_UPDATE', { name: 'member', permissions }), 409, 'conflict');
    expectProblem(await service.tool('ROLE_DELETE', { name: 'admin' }), 409, 'conflict');
    expectProblem(await service.tool('ROLE_CREATE', { name: ' x', permissions }), 400, 'invalid_request');
  });

  it('cannot be deleted while a member or an invitation has them', async () => {
    await service.tool('ROLE_CREATE', { name: 'used', permissions }).expect(200);
    const person = await addKeyHolder(service, 'used');
    expectProblem(await service.tool('ROLE_DELETE', { name: 'used' }), 409, 'conflict');
    await service.tool('MEMBER_UPDATE', { id: person.memberId, role: 'member' }).expect(200);
    const invited = await service.tool('MEMBER_INVITE', { email: 'used@example.com', role: 'used' }).expect(200);
    expectProblem(await service.tool('ROLE_DELETE', { name: 'used' }), 409, 'conflict');
    await service.tool('MEMBER_REMOVE', { id: invited.body.item.id }).expect(200);
    await service.tool('ROLE_DELETE', { name: 'used' }).expect(200);
  });

  it('take effect on everyone who has them', async () => {
    await service.tool('ROLE_CREATE', { name: 'growing', permissions: {} }).expect(200);
    const person = await addKeyHolder(service, 'growing');
    await service.tool('API_KEY_LIST', {}, person.key).expect(403);
    await service.tool('ROLE_UPDATE', { name: 'growing', permissions }).expect(200);
    const isPermitted = async () => expect((await service.tool('API_KEY_LIST', {}, person.key)).status).toBe(200);
    await eventually(isPermitted, 5_000);
  });
});

describe('the organization', () => {
  it('has a name, the permissions of every member and a rule for runs', async () => {
    const { body } = await service.tool('ORGANIZATION_GET').expect(200);
    expect(body.item).toMatchObject({
      slug: service.org,
      name: service.org,
      member_permissions: {},
      run_access: 'members',
    });
    const changes = { name: 'Analytical Engines', member_permissions: { self: ['ROLE_LIST'] }, run_access: 'granted' };
    const updated = await service.tool('ORGANIZATION_UPDATE', changes).expect(200);
    expect(updated.body.item).toMatchObject({ ...changes, slug: service.org });
    const member = await addKeyHolder(service, 'member');
    await service.tool('ROLE_LIST', {}, member.key).expect(200);
    expectProblem(await service.tool('ORGANIZATION_UPDATE', { slug: 'other' }), 400, 'invalid_request');
    expectProblem(await service.tool('ORGANIZATION_UPDATE', { run_access: 'all' }), 400, 'invalid_request');
  });

  it('opens its agents to everyone only through a caller who can use every agent', async () => {
    await service.tool('ORGANIZATION_UPDATE', { run_access: 'granted' }).expect(200);
    const { body } = await service
      .tool('API_KEY_CREATE', { name: 'limited', permissions: { self: ['ORGANIZATION_UPDATE'] } })
      .expect(200);
    expectProblem(
      await service.tool('ORGANIZATION_UPDATE', { run_access: 'members' }, body.key),
      403,
      'permission_widening',
    );
    await service.tool('ORGANIZATION_UPDATE', { name: 'New' }, body.key).expect(200);
  });
});
