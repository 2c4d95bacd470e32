import { expect } from '@jest/globals';
import { addPerson, newEmail } from '../sign-in/people.js';
import { addKey, type Tenant } from '../../support/tenant.js';

/** A member of an organization with a key of their own. */
export interface Person {
  readonly userId: string;
  readonly memberId: string;
  readonly email: string;
  readonly key: string;
}

/** Makes a person with a role, and an API key that allows whatever the role allows. */
export async function addKeyHolder(service: Tenant, role: string, permissions?: object): Promise<Person> {
  const email = newEmail();
  const userId = await addPerson(service, { email, role });
  const { key } = await addKey(service, { name: role, userId, ...(permissions && { permissions }) });
  return { userId, email, key, memberId: (await findMember(service, email)).id };
}

/** The listed member or invitation with this address. */
export async function findMember(service: Tenant, email: string): Promise<Record<string, string> & { id: string }> {
  const where = { field: ['email'], operator: 'eq', value: email };
  const answer = await service.tool('MEMBER_LIST', { where }).expect(200);
  expect(answer.body.items).toHaveLength(1);
  return answer.body.items[0];
}

/** Invites an address; returns the path of the invitation's page. */
export async function invite(service: Tenant, email: string, role = 'member', key?: string): Promise<string> {
  const answer = await service.tool('MEMBER_INVITE', { email, role }, key);
  expect(answer.status).toBe(200);
  return pathOf(answer.body.invitation_url);
}

export function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}
