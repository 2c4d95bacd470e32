import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository, type SelectQueryBuilder } from 'typeorm';
import { changesBetween, type EventActor, NOBODY } from '../../audit/events/audit-event.js';
import { AuditEvents } from '../../audit/events/audit-events.js';
import { DomainError } from '../../core/domain-error.js';
import { isUuid } from '../../core/ids.js';
import type { KeyLimit, KeyRateLimit, OrganizationLimits } from '../../core/limits.js';
import { intersectionOf, isWithin, type PermissionMap, permissionsDigest } from '../../core/permissions.js';
import type { Principal, RunAccess } from '../../core/principal.js';
import { deletionOf } from '../../platform/database/delete-batch.js';
import { changeOrganization, lockOrganization, requireRoom } from '../../platform/database/organization-locks.js';
import { endLinksOfKey, shortenLinksOfKey } from '../organizations/links.js';
import {
  EVERYTHING,
  joinMemberRights,
  MEMBER_RIGHTS_COLUMNS,
  type MemberRights,
  permissionsOfMember,
} from '../organizations/member-rights.js';
import { ApiKeyEntity } from './api-key.entity.js';

/** Limit per organization, because the permissions of active keys are cached in memory. */
const MAX_KEYS = { max: 1000, what: 'API keys' };
/** How many keys can have made each other. Each request of the last one counts for all of them. */
const MAX_LINE = 8;
/** How long an expired key remains listed. */
const EXPIRED_KEPT_MS = 30 * 24 * 3_600_000;

/** The key data that the auth guard needs. */
export interface ActiveApiKey {
  id: string;
  organizationId: string;
  organizationSlug: string;
  runAccess: RunAccess;
  limits: OrganizationLimits;
  keyLimits: readonly KeyLimit[] | null;
  userId: string | null;
  /** The key's own permissions, narrowed to those of the person who made it. */
  permissions: PermissionMap;
  permissionsDigest: string;
  /** Size of the permissions as JSON. */
  permissionBytes: number;
  expiresAt: Date | null;
  grantId: string | null;
  resource: string | null;
  scope: string | null;
}

type ActiveApiKeyRow = Omit<ActiveApiKey, 'permissionsDigest'> & Partial<MemberRights> & { keyHash: string };

/** The caller who makes a change, and the key of its organization that it changes. */
interface KeyChange {
  caller: Principal;
  id: string;
}

/** What the maker of a key holds at the moment of the change. */
export interface LockedMaker {
  readonly permissions: PermissionMap;
  readonly expiresAt: Date | null;
  readonly rateLimit: KeyRateLimit | null;
  /** Whether it or one of its makers has a spending limit. */
  readonly hasSpendLimit: boolean;
}

export type NewApiKey = Omit<ApiKeyEntity, 'createdAt' | 'updatedAt' | 'lastUsedAt'>;
type ApiKeyChange = Partial<Pick<ApiKeyEntity, 'name' | 'permissions' | 'rateLimit' | 'spend' | 'expiresAt'>>;

@Injectable()
export class ApiKeyRepository {
  constructor(
    @InjectRepository(ApiKeyEntity) private readonly keys: Repository<ApiKeyEntity>,
    private readonly events: AuditEvents,
  ) {}

  /** Inserts a key that no caller has made. */
  insert(key: NewApiKey): Promise<ApiKeyEntity> {
    return this.keys.manager.transaction(async (manager) => {
      await manager.insert(ApiKeyEntity, key);
      await this.recordChange(manager, NOBODY, { after: key });
      return manager.findOneByOrFail(ApiKeyEntity, { id: key.id });
    });
  }

  /**
   * Inserts a key if `check` does not throw. Locks the maker, so that `check` sees its current permissions and its
   * deletion cannot interleave. Also deletes keys that expired long ago.
   * @param check receives the maker, or undefined if its credential has ended; if it throws, nothing is stored
   * @param store stores what belongs to the key in the same transaction
   * @throws DomainError `limit_reached`
   */
  insertAs(
    caller: Principal,
    key: NewApiKey,
    check: (maker: LockedMaker | undefined) => void,
    store?: (manager: EntityManager) => Promise<void>,
  ): Promise<ApiKeyEntity> {
    const { organizationId } = key;
    return changeOrganization(this.keys.manager, organizationId, async (manager) => {
      const { maker } = await lockRows(manager, { caller, id: undefined });
      check(maker);
      await deleteLongExpired(manager, organizationId);
      await requireRoom(manager, ApiKeyEntity, organizationId, MAX_KEYS);
      await requireShortLine(manager, key.makerKeyId);
      await manager.insert(ApiKeyEntity, key);
      await this.recordChange(manager, caller, { after: key });
      await store?.(manager);
      return manager.findOneByOrFail(ApiKeyEntity, { id: key.id });
    });
  }

  /**
   * Applies the change that `decide` returns for the stored key, with both keys locked. If `decide` throws, nothing
   * changes. Returns undefined if the key does not exist.
   */
  updateAs(
    change: KeyChange,
    decide: (stored: ApiKeyEntity, maker: LockedMaker | undefined) => ApiKeyChange,
  ): Promise<ApiKeyEntity | undefined> {
    return changeOrganization(this.keys.manager, change.caller.organization.id, async (manager) => {
      const { stored, maker } = await lockRows(manager, change);
      if (stored === undefined) return undefined;
      const changed = decide(stored, maker);
      if (Object.keys(changed).length === 0) return stored;
      await manager.update(ApiKeyEntity, { id: stored.id }, changed);
      if (changed.permissions !== undefined && !isWithin(stored.permissions, changed.permissions)) {
        await endLinksOfKey(manager, stored.id);
      }
      if (changed.expiresAt) await shortenLinksOfKey(manager, stored.id, changed.expiresAt);
      await this.recordChange(manager, change.caller, { before: stored, after: { ...stored, ...changed } });
      return manager.findOneByOrFail(ApiKeyEntity, { id: stored.id });
    });
  }

  /**
   * Deletes the key if `check` does not throw, with both keys locked. The keys that it made, and those that these made,
   * are deleted with it, or pass to its own maker and go on using its quota. Returns undefined if the key does not
   * exist.
   * @param check receives all keys that would be deleted
   * @returns the deleted keys, and how many keys were made with the first of them
   */
  deleteAs(
    change: KeyChange & { keepsChildren: boolean },
    check: (deleted: readonly ApiKeyEntity[], maker: LockedMaker | undefined) => void,
  ): Promise<{ deleted: ApiKeyEntity[]; children: number } | undefined> {
    return changeOrganization(this.keys.manager, change.caller.organization.id, async (manager) => {
      const { stored, maker } = await lockRows(manager, change);
      if (stored === undefined) return undefined;
      const children = await lockMadeWith(manager, stored.id);
      if (change.keepsChildren && children.length > 0 && stored.spend !== null) throw spendsForChildren();
      const deleted = change.keepsChildren ? [stored] : [stored, ...children];
      check(deleted, maker);
      if (change.keepsChildren) await passChildren(manager, stored);
      await manager.delete(ApiKeyEntity, { id: In(deleted.map(({ id }) => id)) });
      for (const before of deleted) await this.recordChange(manager, change.caller, { before });
      return { deleted, children: children.length };
    });
  }

  /** The connections of the organization that the permissions name, without agents. */
  async findConnections(organizationId: string, permissions: PermissionMap): Promise<string[]> {
    const ids = Object.keys(permissions).filter(isUuid);
    if (ids.length === 0) return [];
    const found: { id: string }[] = await this.keys.query(
      "SELECT id FROM connections WHERE organization_id = $1 AND id = ANY($2) AND connection_type <> 'VIRTUAL'",
      [organizationId, ids],
    );
    return found.map(({ id }) => id);
  }

  /** Deletes the keys that a person has made, in all organizations. */
  async deleteOfPerson(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(ApiKeyEntity, { userId });
  }

  findByHash(keyHash: string): Promise<ApiKeyEntity | null> {
    return this.keys.findOneBy({ keyHash });
  }

  /**
   * The keys with these hashes, by hash. Includes expired keys, for a specific error, but no key of a person who is no
   * longer a member.
   */
  async findForAuthentication(keyHashes: readonly string[]): Promise<Map<string, ActiveApiKey>> {
    const rows = await this.findActive('k.key_hash = ANY($1)', keyHashes);
    return new Map(rows.map(({ keyHash, ...key }) => [keyHash, key]));
  }

  /** The current permissions of the given keys by id, without deleted and expired keys. */
  async findUsable(ids: readonly string[], manager?: EntityManager): Promise<Map<string, PermissionMap>> {
    const keys = await this.findUsableKeys(ids, manager);
    return new Map(keys.map(({ id, permissions }) => [id, permissions]));
  }

  /** Those of the given keys that are neither deleted nor expired. */
  findUsableKeys(ids: readonly string[], manager?: EntityManager): Promise<ActiveApiKey[]> {
    return this.findActive('k.id = ANY($1) AND (k.expires_at IS NULL OR k.expires_at > now())', ids, manager);
  }

  private async findActive(condition: string, values: readonly string[], manager = this.keys.manager) {
    const rows: ActiveApiKeyRow[] = await manager.query(
      `SELECT k.id, k.organization_id AS "organizationId", o.slug AS "organizationSlug", o.run_access AS "runAccess",
              o.limits, k.user_id AS "userId", k.permissions, octet_length(k.permissions::text) AS "permissionBytes",
              k.expires_at AS "expiresAt", k.grant_id AS "grantId", line.limits AS "keyLimits", k.resource, k.scope,
              k.key_hash AS "keyHash", ${MEMBER_RIGHTS_COLUMNS}
         FROM api_keys k JOIN organizations o ON o.id = k.organization_id ${joinMemberRights('k')}
         CROSS JOIN LATERAL api_key_line(k.id) AS line
        WHERE ${condition} AND (k.user_id IS NULL OR members.user_id IS NOT NULL)`,
      [values],
    );
    return rows.map(narrowedToMaker);
  }

  /** The names of keys, by id. */
  async findNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found =
      ids.length === 0 ? [] : await this.keys.find({ select: { id: true, name: true }, where: { id: In(ids) } });
    return new Map(found.map(({ id, name }) => [id, name]));
  }

  /** For `paginate`; the alias is `key`. */
  queryOfOrganization(organizationId: string): SelectQueryBuilder<ApiKeyEntity> {
    return this.keys.createQueryBuilder('key').where('key.organizationId = :organizationId', { organizationId });
  }

  existsAny(organizationId: string): Promise<boolean> {
    return this.keys.existsBy({ organizationId });
  }

  private async recordChange(
    manager: EntityManager,
    actor: EventActor,
    { before, after }: { before?: NewApiKey; after?: NewApiKey },
  ): Promise<void> {
    const key = after ?? before;
    if (key === undefined) return;
    const event = before === undefined ? 'key.created' : after === undefined ? 'key.deleted' : 'key.updated';
    const changes = changesBetween(before && recorded(before), after && recorded(after));
    const target = { type: 'key', id: key.id, name: key.name } as const;
    await this.events.record(key.organizationId, { event, actor, target, changes }, manager);
  }

  async touch(id: string, at: Date): Promise<void> {
    await this.keys.query(`UPDATE api_keys SET last_used_at = $2 WHERE id = $1`, [id, at]);
  }
}

/** What events show of a key. */
function recorded({ name, permissions, expiresAt, rateLimit, spend }: NewApiKey) {
  return { name, permissions, expires_at: expiresAt, rate_limit: rateLimit, spend };
}

function narrowedToMaker({ role, rolePermissions = null, memberPermissions = {}, ...key }: ActiveApiKeyRow) {
  const permissions =
    key.userId === null || role === undefined
      ? key.permissions
      : intersectionOf(key.permissions, permissionsOfMember({ role, rolePermissions, memberPermissions }));
  return { ...key, permissions, permissionsDigest: permissionsDigest(permissions) };
}

/**
 * Locks the key that is changed and what the caller's rights depend on: its grant, its membership and its key. The
 * organization comes first, as for changes of members. The grant comes before its keys, as when it is revoked, and a
 * membership before the keys that end with it. Keys come in a fixed order, so that transactions that change each
 * other's makers cannot deadlock.
 * @param manager of a `changeOrganization`
 */
async function lockRows(
  manager: EntityManager,
  { caller, id }: { caller: Principal; id: string | undefined },
): Promise<{ stored: ApiKeyEntity | undefined; maker: LockedMaker | undefined }> {
  const { id: organizationId } = caller.organization;
  await lockOrganization(manager, organizationId);
  const grants: object[] = await manager.query('SELECT FROM oauth_grants WHERE id = $1 FOR KEY SHARE', [
    caller.grantId,
  ]);
  const person = caller.userId === null ? undefined : await lockMember(manager, organizationId, caller.userId);
  const ids = [caller.apiKeyId, id].filter((each) => typeof each === 'string');
  const locked = await manager.find(ApiKeyEntity, {
    where: { organizationId, id: In(ids) },
    order: { id: 'ASC' },
    lock: { mode: 'for_no_key_update' },
  });
  // PostgreSQL returns UUIDs in lower case; callers can send upper case.
  const find = (wanted: string | null | undefined) => locked.find((key) => key.id === wanted?.toLowerCase());
  const key = find(caller.apiKeyId);
  const hasEnded =
    (caller.grantId !== null && grants.length === 0) ||
    (caller.userId !== null && person === undefined) ||
    (caller.apiKeyId !== null && key === undefined);
  if (hasEnded) return { stored: find(id), maker: undefined };
  const permissions = intersectionOf(key?.permissions ?? EVERYTHING, person ?? EVERYTHING);
  const rateLimit = key === undefined ? null : await findLineLimit(manager, key.id);
  const hasSpendLimit = key !== undefined && (await hasLineSpendLimit(manager, key));
  return { stored: find(id), maker: { permissions, expiresAt: key?.expiresAt ?? null, rateLimit, hasSpendLimit } };
}

/** The lowest limit of the key and its makers. */
async function findLineLimit(manager: EntityManager, id: string): Promise<KeyRateLimit | null> {
  const [line]: { limits: KeyLimit[] | null }[] = await manager.query('SELECT limits FROM api_key_line($1)', [id]);
  const limits = line?.limits ?? [];
  return limits.length === 0 ? null : { per_minute: Math.min(...limits.map(({ perMinute }) => perMinute)) };
}

async function hasLineSpendLimit(manager: EntityManager, { id, organizationId }: ApiKeyEntity): Promise<boolean> {
  const limits: unknown[] = await manager.query(
    `SELECT FROM spend_limits_of($1, NULL, $2, NULL) WHERE scope = 'key' LIMIT 1`,
    [organizationId, id],
  );
  return limits.length > 0;
}

/** Without the key, nothing would limit them any more. */
function spendsForChildren(): DomainError {
  return new DomainError(
    'conflict',
    'The spending limit of the key also applies to the keys that it made. Clear it first, or delete them too.',
  );
}

/**
 * Gives the keys that a key has made to its own maker. Those of a limited key share its quota as before: otherwise the
 * key could give each of them one of its own by deleting itself.
 */
async function passChildren(manager: EntityManager, key: ApiKeyEntity): Promise<void> {
  const { id, makerKeyId, rateLimit } = key;
  if (rateLimit?.per_minute !== undefined) {
    await manager.query(
      `UPDATE api_keys SET quota_key_id = $2,
              rate_limit = jsonb_build_object('per_minute', least((rate_limit->>'per_minute')::integer, $3::integer))
        WHERE maker_key_id = $1`,
      [id, key.quotaKeyId ?? id, rateLimit.per_minute],
    );
  }
  await manager.update(ApiKeyEntity, { makerKeyId: id }, { makerKeyId });
}

/** A key with children stays, because it would take them along, and so does one that another process has locked. */
async function deleteLongExpired(manager: EntityManager, organizationId: string): Promise<void> {
  await manager.query(
    deletionOf(
      'api_keys',
      `SELECT ctid FROM api_keys WHERE organization_id = $1 AND expires_at < now() - $2 * interval '1 ms'
          AND NOT EXISTS (SELECT FROM api_keys child WHERE child.maker_key_id = api_keys.id)
          FOR UPDATE SKIP LOCKED`,
    ),
    [organizationId, EXPIRED_KEPT_MS],
  );
}

/** @throws DomainError `limit_reached` */
async function requireShortLine(manager: EntityManager, makerKeyId: string | null): Promise<void> {
  if (makerKeyId === null) return;
  const [{ length }]: [{ length: number }] = await manager.query('SELECT length FROM api_key_line($1)', [makerKeyId]);
  if (length < MAX_LINE) return;
  throw new DomainError('limit_reached', `At most ${MAX_LINE} keys can make each other in a line.`);
}

/**
 * Locks all keys that were made with this locked one, directly or by each other. Searches again until it finds no more:
 * one of them could just be making another.
 */
async function lockMadeWith(manager: EntityManager, id: string): Promise<ApiKeyEntity[]> {
  let locked: ApiKeyEntity[] = [];
  for (;;) {
    const found: { id: string }[] = await manager.query(
      `WITH RECURSIVE made AS (
         SELECT id FROM api_keys WHERE maker_key_id = $1
         UNION ALL SELECT key.id FROM made JOIN api_keys key ON key.maker_key_id = made.id
       ) SELECT id FROM made`,
      [id],
    );
    if (found.length === locked.length) return locked;
    locked = await manager.find(ApiKeyEntity, {
      where: { id: In(found.map((key) => key.id)) },
      order: { id: 'ASC' },
      lock: { mode: 'for_no_key_update' },
    });
  }
}

/**
 * The permissions of the member, who cannot be removed before the transaction ends; undefined if there is no such
 * member.
 */
async function lockMember(
  manager: EntityManager,
  organizationId: string,
  userId: string,
): Promise<PermissionMap | undefined> {
  const [rights]: MemberRights[] = await manager.query(
    `SELECT ${MEMBER_RIGHTS_COLUMNS}
       FROM (SELECT $1::uuid AS organization_id, $2::uuid AS user_id) AS caller
       JOIN organizations o ON o.id = caller.organization_id
       JOIN members ON members.organization_id = caller.organization_id AND members.user_id = caller.user_id
       LEFT JOIN roles ON roles.organization_id = members.organization_id AND roles.name = members.role
        FOR SHARE OF members`,
    [organizationId, userId],
  );
  return rights && permissionsOfMember(rights);
}
