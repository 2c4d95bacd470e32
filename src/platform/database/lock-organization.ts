import type { EntityManager } from 'typeorm';

/**
 * Lets transactions that call it for the same organization run one after the other, from here to their end. Rows that
 * only refer to the organization can be written meanwhile.
 */
export async function lockOrganization(manager: EntityManager, id: string): Promise<void> {
  await manager.query('SELECT FROM organizations WHERE id = $1 FOR NO KEY UPDATE', [id]);
}
