import supertest from 'supertest';
import { addOrganization, callTool, type Tenant } from './tenant.js';

/** Makes another organization with a key that may do everything there, and returns how its tools are called. */
export async function startSecondOrganization(first: Pick<Tenant, 'url' | 'org' | 'query'>, name: string) {
  const { url, org, query } = first;
  // An application of the spec's own has no other tenants, whose second organizations could have the same name.
  const slug = org === 'default' ? name : `${org}-${name}`;
  const { key, organizationId: id } = await addOrganization({ query }, slug);
  return {
    id,
    slug,
    key,
    /** Posts to a path of the organization. */
    post: (path: string, body: object) =>
      supertest(url).post(`/api/${slug}/${path}`).set('authorization', `Bearer ${key}`).send(body),
    tool: (tool: string, body: object) => callTool({ url, org: slug, apiKey: key }, tool, body),
  };
}
