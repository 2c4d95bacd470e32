import supertest from 'supertest';
import { generateApiKey, hashApiKey, VISIBLE_PREFIX_LENGTH } from '../../src/core/api-key-value.js';
import { openQueries } from './database.js';
import { newId } from '../../src/core/ids.js';
import { OPEN_RUN_STATUS_LIST } from '../../src/core/run-status.js';

/** What a client has of a service: an organization of its own, with a key that may do everything there. */
export interface Tenant {
  readonly url: string;
  /** The slug of the organization. */
  readonly org: string;
  readonly apiKey: string;
  /** Calls a management tool. */
  tool(name: string, body?: object, key?: string): supertest.Test;
  /** Returns the rows of a statement. All tenants are in one database: a condition has to name what is the tenant's. */
  query<Row>(statement: string, parameters?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** What the global set-up tells of a service. */
export interface TenantService {
  /** Of each of its processes. */
  urls: readonly string[];
  databaseUrl: string;
  /** One of the names of organizations that may start programs. No other tenant gets it. */
  slug: string;
}

/**
 * The variable with the address where the global set-up tells of the service of a worker, and starts it first if need
 * be.
 */
export const TENANT_SERVICES_URL = 'TEST_TENANT_SERVICES_URL';

const EVERYTHING = { self: ['*'], '*': ['*'] };

/**
 * Makes an organization in the built service that all specs of this Jest worker share, with the settings of
 * `startTestApp`. With other settings, it is in a service that all specs with the same ones share. For specs that need
 * no part of the application.
 */
export async function newTenant(settings: Record<string, string> = {}): Promise<Tenant> {
  const isPlain = Object.keys(settings).length === 0;
  const path = isPlain ? `plain/${process.env['JEST_WORKER_ID']}` : `?${new URLSearchParams(settings).toString()}`;
  const [tenant] = await newTenantOf(path);
  return tenant as Tenant;
}

/** Makes an organization in a service of two processes. Returns it as a client of each process has it. */
export async function newTenantOfTwo(): Promise<[Tenant, Tenant]> {
  return (await newTenantOf('pair')) as [Tenant, Tenant];
}

async function newTenantOf(service: string): Promise<Tenant[]> {
  const answer = await fetch(`${process.env[TENANT_SERVICES_URL]}/${service}`);
  if (!answer.ok) throw new Error(await answer.text());
  const { urls, databaseUrl, slug: org } = (await answer.json()) as TenantService;
  const [url = ''] = urls;
  const { query, end } = openQueries(databaseUrl);
  const { id: keyId, key: apiKey } = await addOrganization({ query }, org);
  const close = async (): Promise<void> => {
    // What people of the organization have started does not end with the key.
    const unfinished = await query<{ thread_id: string }>(
      `SELECT DISTINCT thread_id FROM runs JOIN organizations o ON o.id = organization_id
        WHERE slug = $1 AND status IN (${OPEN_RUN_STATUS_LIST})`,
      [org],
    );
    const threads = `/api/${org}/agent-runtime/threads`;
    for (const { thread_id: id } of unfinished) {
      await supertest(url).post(`${threads}/${id}/cancel`).set('authorization', `Bearer ${apiKey}`).send({});
    }
    // Ends the streams of the key, and those of all keys that were made with it.
    await callTool({ url, org, apiKey }, 'API_KEY_DELETE', { id: keyId });
    await end();
  };
  return urls.map((at) => ({
    url: at,
    org,
    apiKey,
    tool: (name, body = {}, key = apiKey) => callTool({ url: at, org, apiKey: key }, name, body),
    query,
    close,
  }));
}

/** Calls a management tool of an organization. */
export function callTool({ url, org, apiKey }: Pick<Tenant, 'url' | 'org' | 'apiKey'>, name: string, body: object) {
  return supertest(url).post(`/api/${org}/tools/${name}`).set('authorization', `Bearer ${apiKey}`).send(body);
}

/** Stores an organization with a key that may do everything there. */
export async function addOrganization({ query }: Pick<Tenant, 'query'>, slug: string) {
  const organizationId = newId();
  await query('INSERT INTO organizations (id, slug, name) VALUES ($1, $2, $2)', [organizationId, slug]);
  return { organizationId, ...(await addKey({ query, org: slug }, { name: 'bootstrap' })) };
}

/**
 * Stores a key of the organization, or of a person in it. Unlike the management tool, it needs nobody who may do that.
 */
export async function addKey(
  { query, org }: Pick<Tenant, 'query' | 'org'>,
  { name, userId = null, permissions = EVERYTHING }: { name: string; userId?: string | null; permissions?: object },
): Promise<{ id: string; key: string }> {
  const key = generateApiKey();
  const id = newId();
  await query(
    `INSERT INTO api_keys (id, organization_id, user_id, name, key_prefix, key_hash, permissions)
     SELECT $1, id, $2, $3, $4, $5, $6 FROM organizations WHERE slug = $7`,
    [id, userId, name, key.slice(0, VISIBLE_PREFIX_LENGTH), hashApiKey(key), JSON.stringify(permissions), org],
  );
  return { id, key };
}
