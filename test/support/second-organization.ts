import type { INestApplication } from '@nestjs/common';
import supertest from 'supertest';
import { ApiKeyService } from '../../src/identity/api-keys/api-key.service.js';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { OrganizationsService } from '../../src/identity/organizations/organizations.service.js';

/** Makes another organization with a key that may do everything there, and returns how its tools are called. */
export async function startSecondOrganization(app: INestApplication, url: string, slug: string) {
  const { id } = await app.get(OrganizationsService, { strict: false }).ensure(slug);
  const key = generateApiKey();
  const permissions = { self: ['*'], '*': ['*'] };
  await app
    .get(ApiKeyService, { strict: false })
    .ensure(key, { organizationId: id, userId: null, name: slug, permissions });
  return {
    id,
    slug,
    key,
    /** Posts to a path of the organization. */
    post: (path: string, body: object) =>
      supertest(url).post(`/api/${slug}/${path}`).set('authorization', `Bearer ${key}`).send(body),
    tool: (name: string, body: object) =>
      supertest(url).post(`/api/${slug}/tools/${name}`).set('authorization', `Bearer ${key}`).send(body),
  };
}
