import type { DataSource } from 'typeorm';
import { deleteFound, ROWS_PER_STATEMENT } from '../platform/database/delete-batch.js';

/**
 * Deletes up to 1,000 rows from before a time, the oldest of each organization first. The statement finds the
 * organizations by skipping through the primary key instead of scanning it.
 * @returns the number of deleted rows
 */
export function deleteBefore(
  database: Pick<DataSource, 'query'>,
  table: 'audit_records' | 'audit_events',
  time: Date,
): Promise<number> {
  const found = `
    WITH RECURSIVE organization AS (
      (SELECT organization_id AS id FROM ${table} ORDER BY organization_id LIMIT 1)
      UNION ALL
      SELECT (SELECT organization_id FROM ${table} WHERE organization_id > organization.id ORDER BY organization_id
        LIMIT 1)
        FROM organization WHERE organization.id IS NOT NULL
    )
    SELECT expired.ctid FROM organization CROSS JOIN LATERAL (
      SELECT ctid FROM ${table} WHERE organization_id = organization.id AND at < $1
       ORDER BY at LIMIT ${ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
    ) AS expired LIMIT ${ROWS_PER_STATEMENT}`;
  return deleteFound(database, table, found, [time]);
}
