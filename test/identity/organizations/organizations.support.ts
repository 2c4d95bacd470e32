import { expect } from '@jest/globals';

import { ApiKeyService } from '../../../src/identity/api-keys/api-key.service.js';
import { generateApiKey } from '../../../src/core/api-key-value.js';
import { OrganizationsService } from '../../../src/identity/organizations/organizations.service.js';
import { addPerson, newEmail } from '../sign-in/people.js';
import type { TestApp } from '../../support/app.js';

const EVERYTHING = { self: ['*'], '*': ['*'] };

/** A member of the default organization with a key of their own. */
export interface Person {
  readonly userId: string;
  readonly memberId: string;
  readonly email: string;
  readonly key: string;
}

/** Makes a person with a role, and an API key that allows whatever the role allows. */
export async function addKeyHolder(service: TestApp, role: string, permissions: object = EVERYTHING): Promise<Person> {
  const email = newEmail();
  const userId = await addPerson(service, { email, role });
  const key = generateApiKey();
  const { id: organizationId } = await service.app.get(OrganizationsService, { strict: false }).ensure(service.org);
  await service.app
    .get(ApiKeyService, { strict: false })
    .ensure(key, { organizationId, userId, name: role, permissions: permissions as Record<string, string[]> });
  return { userId, email, key, memberId: (await findMember(service, email)).id };
}

/** The listed member or invitation with this address. */
export async function findMember(service: TestApp, email: string): Promise<Record<string, string> & { id: string }> {
  const where = { field: ['email'], operator: 'eq', value: email };
  const answer = await service.tool('MEMBER_LIST', { where }).expect(200);
  expect(answer.body.items).toHaveLength(1);
  return answer.body.items[0];
}

/** Invites an address; returns the path of the invitation's page. */
export async function invite(service: TestApp, email: string, role = 'member', key?: string): Promise<string> {
  const answer = await service.tool('MEMBER_INVITE', { email, role }, key);
  expect(answer.status).toBe(200);
  return pathOf(answer.body.invitation_url);
}

export function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}
