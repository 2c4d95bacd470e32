import { generateApiKey, hashApiKey } from '../../dist/core/api-key-value.js';
import { copiedId, copyWithIds } from './copy-rows.mjs';

/** Tables with an organization, in the order of their references. `users` and `organizations` come before. */
const TABLES = [
  'members',
  'api_keys',
  'connections',
  'agents',
  'agent_connections',
  'agent_versions',
  'schedules',
  'threads',
  'runs',
  'messages',
  'audit_events',
  'audit_records',
];
const OF_AGENT = new Set(['agent_connections', 'agent_versions']);

/**
 * Stores copies of the first organization: its people, keys, connections, agents, schedules, threads, runs, messages
 * and records, with ids of their own.
 * @param {import('pg').Client} client
 * @param {number} count how many
 * @returns {Promise<{ slug: string, key: string, n: number }[]>} each copy with an API key
 */
export async function storeOrganizations(client, count) {
  const copies = Array.from({ length: count }, (_, i) => ({
    slug: `organization-${i + 1}`,
    key: generateApiKey(),
    n: i + 1,
  }));
  const { rows } = await client.query('SELECT id FROM organizations ORDER BY created_at LIMIT 1');
  const [{ id: organization }] = rows;
  const copy = (table, changed, where) => insertCopies(client, table, { changed, where, organization, count });
  await copy('organizations', { slug: `'organization-' || n`, name: `'Organization ' || n` }, 'template.id = $1');
  const isMember = 'template.id IN (SELECT user_id FROM members WHERE organization_id = $1)';
  await copy('users', { email: `'person-' || n || '-' || template.email` }, isMember);
  for (const table of TABLES) {
    const isOfAgent = 'template.agent_id IN (SELECT id FROM agents WHERE organization_id = $1)';
    await copy(table, CHANGED[table] ?? {}, OF_AGENT.has(table) ? isOfAgent : 'template.organization_id = $1');
  }
  await client.query(
    `UPDATE api_keys SET key_hash = made.hash
       FROM unnest($1::text[], $2::text[]) AS made (slug, hash) JOIN organizations ON organizations.slug = made.slug
      WHERE api_keys.organization_id = organizations.id AND api_keys.name = 'bootstrap'`,
    [copies.map(({ slug }) => slug), copies.map(({ key }) => hashApiKey(key))],
  );
  await client.query('VACUUM ANALYZE');
  return copies;
}

/** Columns that identify something otherwise than with a UUID of their own. */
const CHANGED = {
  api_keys: { key_hash: `md5('a' || template.key_hash || n) || md5('b' || template.key_hash || n)` },
  schedules: { credential_id: `${copiedId('template.credential_id')}::text` },
  messages: { run_position: `(SELECT position FROM runs WHERE runs.id = ${copiedId('template.run_id')})` },
};

/** The ids of the copies of a row of the first organization, by number. */
export async function copiedIds(client, id, numbers) {
  const { rows } = await client.query(`SELECT ${copiedId('$1::text')} AS id FROM unnest($2::int[]) n`, [id, numbers]);
  return rows.map(({ id: copied }) => copied);
}

async function insertCopies(client, table, { changed, where, organization, count }) {
  await client.query(
    `INSERT INTO ${table} ${await copyWithIds(client, table, changed)}
       FROM ${table} template, generate_series(1, $2::int) n WHERE ${where}`,
    [organization, count],
  );
}
