/**
 * The columns of an INSERT and its SELECT list, for copies of rows (`template`).
 * @param {import('pg').Client} client
 * @param {string} table
 * @param {Readonly<Record<string, string>>} changed SQL of the columns that differ from the template's
 */
export async function copyOf(client, table, changed) {
  return copyOfColumns(await columnsOf(client, table), changed);
}

/**
 * The same for copies with ids of their own, one for each number `n`: every UUID of the row is replaced, so that copies
 * of rows that refer to each other do so too (`copiedId`).
 * @param {import('pg').Client} client
 * @param {string} table
 * @param {Readonly<Record<string, string>>} changed SQL of the other columns that differ from the template's
 */
export async function copyWithIds(client, table, changed = {}) {
  const columns = await columnsOf(client, table);
  const ids = columns.filter(({ type }) => type === 'uuid').map(({ name }) => [name, copiedId(`template.${name}`)]);
  return copyOfColumns(columns, { ...Object.fromEntries(ids), ...changed });
}

/** SQL: the id of copy `n` of the row with this id. */
export function copiedId(id) {
  return `md5(${id}::text || n)::uuid`;
}

function copyOfColumns(columns, changed) {
  const names = columns.map(({ name }) => name);
  return `(${names.join(', ')}) SELECT ${names.map((name) => changed[name] ?? `template.${name}`).join(', ')}`;
}

/** The columns that an INSERT can set. */
async function columnsOf(client, table) {
  const { rows } = await client.query(
    `SELECT column_name AS name, udt_name AS type FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'NO' AND is_generated = 'NEVER'`,
    [table],
  );
  return rows;
}
