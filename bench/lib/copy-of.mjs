/**
 * The columns of an INSERT and its SELECT list, for copies of one row (`template`).
 * @param {import('pg').Client} client
 * @param {string} table
 * @param {Readonly<Record<string, string>>} changed SQL of the columns that differ from the template's
 */
export async function copyOf(client, table, changed) {
  const { rows } = await client.query(
    `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'NO' AND is_generated = 'NEVER'`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  return `(${names.join(', ')}) SELECT ${names.map((name) => changed[name] ?? `template.${name}`).join(', ')}`;
}
