import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';

/**
 * Lets transactions that call it for the same organization run one after the other, from here to their end. Rows that
 * only refer to the organization can be written meanwhile.
 */
export async function lockOrganization(manager: EntityManager, id: string): Promise<void> {
  await manager.query('SELECT FROM organizations WHERE id = $1 FOR NO KEY UPDATE', [id]);
}

/**
 * Refuses to create more of a resource than an organization can have. Creations in one organization are serialized
 * until the transaction ends, so that the count is exact.
 * @throws DomainError `limit_reached`
 */
export async function requireRoom(
  manager: EntityManager,
  entity: EntityTarget<ObjectLiteral>,
  organizationId: string,
  { max, what }: { max: number; what: string },
): Promise<void> {
  await lockOrganization(manager, organizationId);
  const count = await manager.countBy(entity, { organizationId });
  if (count >= max) throw new DomainError('limit_reached', `An organization can have ${max} ${what}.`);
}
