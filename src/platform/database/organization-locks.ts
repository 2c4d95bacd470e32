import type { DataSource, EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { DomainError, storageUnavailable } from '../../core/domain-error.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { atMost, half, Shares } from '../../core/sharing/shares.js';

/** Of the 20 connections of the pool, some are always left for other statements. */
const TURNS = 16;
const TURNS_OF_ORGANIZATION = 12;
const TURNS_OF_ONE = 2;
const WAITING = 2_000;
const WAIT_MS = 10_000;

/**
 * Whose work it is and for which row's lock it waits, such as an organization and a thread; of callers without an
 * organization, what they do and where they come from.
 */
export type Turn = readonly [who: string, row: string];

/** The turns in progress, for each pool. */
const shares = new WeakMap<DataSource, FairShare>();

/**
 * Does work that waits for a lock which other work of an organization can hold. Few of it are in progress at a time in
 * each process: each holds a connection of the pool while it waits, and other organizations need them too.
 * @param work waits for nothing but the database, and takes no other turn
 * @throws DomainError `storage_unavailable` if its turn does not come within 10 s, or if too many wait
 */
export function inTurn<T>(database: DataSource, turn: Turn, work: () => Promise<T>): Promise<T> {
  const share = shares.get(database) ?? newShare();
  shares.set(database, share);
  return share.within(turn, work);
}

/** A transaction with such work, see `inTurn`. */
export function transactionInTurn<T>(
  { connection }: EntityManager,
  turn: Turn,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  return inTurn(connection, turn, () => connection.transaction(work));
}

/** A transaction in which changes of an organization can wait for each other, see `inTurn`. */
export function changeOrganization<T>(
  manager: EntityManager,
  organizationId: string,
  change: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  return transactionInTurn(manager, [organizationId, organizationId], change);
}

function newShare(): FairShare {
  return new FairShare({
    capacity: TURNS,
    limits: [atMost(TURNS_OF_ORGANIZATION), atMost(TURNS_OF_ONE)],
    places: new Shares(WAITING, [half]),
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
