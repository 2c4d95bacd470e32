import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import { lockOrganization } from './lock-organization.js';

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
