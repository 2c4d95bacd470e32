import type { ClientBase } from 'pg';
import { TamperedEnvelopeError, UnknownKeyError } from './envelope.js';
import type { SealedColumn } from './sealed-columns.js';
import type { VaultService } from './vault.service.js';

/** Rows that are read at once. */
const BATCH_ROWS = 200;

/** An envelope that was left as it is, because it does not open. */
export interface UnreadableEnvelope {
  readonly id: string;
  /** The id of the key that is missing; undefined when the key is there and the envelope is not authentic in its row. */
  readonly missingKeyId: string | undefined;
}

/** What became of the envelopes of one column, in rows. */
export interface RotationResult {
  readonly resealed: number;
  /** Under the first key already. */
  readonly current: number;
  readonly unreadable: readonly UnreadableEnvelope[];
}

interface SealedRow {
  readonly id: string;
  readonly envelope: string;
}

type Outcome = 'resealed' | 'current' | 'gone';

/**
 * Brings every envelope of a column under the vault's first key, while others read and write the table. Each row is
 * compared and set: a value that was stored meanwhile is never overwritten, but looked at again. Nothing else of the row
 * is touched, so its `updated_at` and `revision` stay. Every envelope is opened, also those that need no change: when none
 * is unreadable, the first key opens all.
 *
 * It can be broken off and begun anew at any time, and two may run at once.
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

/** In the order of the ids, in batches: no cursor or transaction is held open over the work. */
async function* rowsOf(client: ClientBase, { table, column }: SealedColumn): AsyncGenerator<SealedRow> {
  let last: string | null = null;
  for (;;) {
    const { rows }: { rows: SealedRow[] } = await client.query(
      `SELECT id, ${column} AS envelope FROM ${table}
        WHERE ${column} IS NOT NULL AND ($1::uuid IS NULL OR id > $1) ORDER BY id LIMIT ${BATCH_ROWS}`,
      [last],
    );
    yield* rows;
    if (rows.length < BATCH_ROWS) return;
    last = rows.at(-1)?.id ?? null;
  }
}

/** @throws UnknownKeyError, TamperedEnvelopeError */
async function rotateRow(
  client: ClientBase,
  vault: VaultService,
  { table, column, contextOf }: SealedColumn,
  { id, envelope }: SealedRow,
): Promise<Outcome> {
  let stored: string | null = envelope;
  while (stored !== null) {
    const context = contextOf(id);
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
