import type { DataSource, EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { DomainError, storageUnavailable } from '../../core/domain-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, half, Shares } from '../../core/sharing/shares.js';

/** Of the 20 connections of the pool, some are always left for other statements. */
const CHANGES = 12;
const CHANGES_OF_ONE = 4;
const WAITING_CHANGES = 2_000;
const WAIT_MS = 10_000;

/** The changes in progress, for each pool. */
const shares = new WeakMap<DataSource, FairShare>();

/**
 * A transaction in which changes of an organization can wait for each other. An organization has few of them at a time
 * in each process: each holds a connection of the pool while it waits for a lock, and other organizations need them too.
 * @param change waits for nothing but the database, and begins no other change
 * @throws DomainError `storage_unavailable` if its turn does not come within 10 s, or if too many wait
 */
export function changeOrganization<T>(
  { connection }: EntityManager,
  organizationId: string,
  change: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  const share = shares.get(connection) ?? newShare();
  shares.set(connection, share);
  return share.within([organizationId], () => connection.transaction(change));
}

function newShare(): FairShare {
  return new FairShare({
    capacity: CHANGES,
    limits: [atMost(CHANGES_OF_ONE)],
    places: new Shares(WAITING_CHANGES, [half]),
    waitMs: WAIT_MS,
    refusal: storageUnavailable,
  });
}

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
 * @param manager of a `changeOrganization`
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
