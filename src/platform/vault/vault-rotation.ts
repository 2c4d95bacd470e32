import type { ClientBase } from 'pg';
import { TamperedEnvelopeError, UnknownKeyError } from './envelope.js';
import type { SealedColumn } from './sealed-columns.js';
import type { VaultService } from './vault.service.js';

/** Number of rows to read at once, unless the column says otherwise. */
const BATCH_ROWS = 200;

/** An envelope that was left unchanged because it does not open. */
export interface UnreadableEnvelope {
  readonly id: string;
  /** The id of the missing key; undefined if the key exists but the envelope is not authentic in its row. */
  readonly missingKeyId: string | undefined;
}

/** The outcome for one column, in rows. */
interface RotationResult {
  readonly resealed: number;
  /** Already sealed under the first key. */
  readonly current: number;
  readonly unreadable: readonly UnreadableEnvelope[];
}

interface SealedRow {
  readonly id: string;
  readonly owner: string;
  readonly envelope: string;
}

type Outcome = 'resealed' | 'current' | 'gone';

/**
 * Re-encrypts every envelope of a column under the vault's first key, while other processes read and write the table.
 * Each update is a compare-and-set: a concurrently stored value is never overwritten, but processed again. Other
 * columns, including `updated_at` and `revision`, do not change. Opens every envelope, including current ones: if none
 * is unreadable, the first key opens all.
 *
 * The rotation can be interrupted and restarted at any time, and several can run concurrently.
 */
export async function rotateColumn(
  client: ClientBase,
  vault: VaultService,
  sealedColumn: SealedColumn,
): Promise<RotationResult> {
  const counts = { resealed: 0, current: 0, gone: 0 };
  const unreadable: UnreadableEnvelope[] = [];
  for await (const row of rowsOf(client, sealedColumn)) {
    try {
      counts[await rotateRow(client, vault, sealedColumn, row)] += 1;
    } catch (error) {
      if (!(error instanceof UnknownKeyError || error instanceof TamperedEnvelopeError)) throw error;
      unreadable.push({ id: row.id, missingKeyId: error instanceof UnknownKeyError ? error.keyId : undefined });
    }
  }
  return { resealed: counts.resealed, current: counts.current, unreadable };
}

/** Reads in batches, ordered by id, so that no cursor or transaction stays open. */
async function* rowsOf(
  client: ClientBase,
  { table, column, owner = 'id', batchRows = BATCH_ROWS }: SealedColumn,
): AsyncGenerator<SealedRow> {
  let last: string | null = null;
  for (;;) {
    const { rows }: { rows: SealedRow[] } = await client.query(
      `SELECT id, (${owner})::text AS owner, ${column} AS envelope FROM ${table}
        WHERE ${column} IS NOT NULL AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT ${batchRows}`,
      [last],
    );
    yield* rows;
    if (rows.length < batchRows) return;
    last = rows.at(-1)?.id ?? null;
  }
}

/** @throws UnknownKeyError, TamperedEnvelopeError */
async function rotateRow(
  client: ClientBase,
  vault: VaultService,
  { table, column, contextOf }: SealedColumn,
  { id, owner, envelope }: SealedRow,
): Promise<Outcome> {
  let stored: string | null = envelope;
  while (stored !== null) {
    const context = contextOf(owner);
    const plaintext = vault.open(stored, context);
    if (vault.isCurrent(stored)) return 'current';
    const update = `UPDATE ${table} SET ${column} = $3 WHERE id = $1 AND ${column} = $2`;
    const { rowCount } = await client.query(update, [id, stored, vault.seal(plaintext, context)]);
    if (rowCount === 1) return 'resealed';
    stored = await readEnvelope(client, table, column, id);
  }
  return 'gone';
}

async function readEnvelope(client: ClientBase, table: string, column: string, id: string): Promise<string | null> {
  const select = `SELECT ${column} AS envelope FROM ${table} WHERE id = $1`;
  const { rows } = await client.query<{ envelope: string | null }>(select, [id]);
  return rows[0]?.envelope ?? null;
}
