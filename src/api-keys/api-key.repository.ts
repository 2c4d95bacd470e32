import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, LessThan, Repository, type SelectQueryBuilder } from 'typeorm';
import { requireRoom } from '../database/require-room.js';
import { ApiKeyEntity } from './api-key.entity.js';

/** Limit per organization, because the permissions of active keys are cached in memory. */
const MAX_KEYS = { max: 1000, what: 'API keys' };
/** How long an expired key remains listed. */
const EXPIRED_KEPT_MS = 30 * 24 * 3_600_000;

/** The key data that the auth guard needs. */
export interface ActiveApiKey {
  id: string;
  organizationId: string;
  organizationSlug: string;
  userId: string;
  permissions: ApiKeyEntity['permissions'];
  permissionsDigest: string;
  /** Size of the permissions as JSON. */
  permissionBytes: number;
  expiresAt: Date | null;
}

/** The key that makes a change (the maker) and the key of the same organization that it changes. */
interface KeyPair {
  organizationId: string;
  makerId: string;
  id: string;
}

export type NewApiKey = Omit<ApiKeyEntity, 'createdAt' | 'updatedAt' | 'lastUsedAt'>;
export type ApiKeyChange = Partial<Pick<ApiKeyEntity, 'name' | 'permissions'>>;

@Injectable()
export class ApiKeyRepository {
  constructor(@InjectRepository(ApiKeyEntity) private readonly keys: Repository<ApiKeyEntity>) {}

  async insert(key: NewApiKey): Promise<ApiKeyEntity> {
    await this.keys.insert(key);
    return this.keys.findOneByOrFail({ id: key.id });
  }

  /**
   * Inserts a key if `check` does not throw. Locks the maker, so that `check` sees its current permissions and its deletion
   * cannot interleave. Also deletes keys that expired long ago.
   * @param check receives the maker, or undefined if it no longer exists; if it throws, nothing is stored
   * @throws DomainError `limit_reached`
   */
  insertAs(makerId: string, key: NewApiKey, check: (maker: ApiKeyEntity | undefined) => void): Promise<ApiKeyEntity> {
    const { organizationId } = key;
    return this.keys.manager.transaction(async (manager) => {
      const { maker } = await lockKeys(manager, { organizationId, makerId, id: makerId });
      check(maker);
      await manager.delete(ApiKeyEntity, {
        organizationId,
        expiresAt: LessThan(new Date(Date.now() - EXPIRED_KEPT_MS)),
      });
      await requireRoom(manager, ApiKeyEntity, organizationId, MAX_KEYS);
      await manager.insert(ApiKeyEntity, key);
      return manager.findOneByOrFail(ApiKeyEntity, { id: key.id });
    });
  }

  /**
   * Applies the change that `decide` returns for the stored key, with both keys locked. If `decide` throws, nothing changes.
   * Returns undefined if the key does not exist.
   */
  updateAs(
    pair: KeyPair,
    decide: (stored: ApiKeyEntity, maker: ApiKeyEntity | undefined) => ApiKeyChange,
  ): Promise<ApiKeyEntity | undefined> {
    return this.keys.manager.transaction(async (manager) => {
      const { stored, maker } = await lockKeys(manager, pair);
      if (stored === undefined) return undefined;
      const change = decide(stored, maker);
      if (Object.keys(change).length === 0) return stored;
      await manager.update(ApiKeyEntity, { id: stored.id }, change);
      return manager.findOneByOrFail(ApiKeyEntity, { id: stored.id });
    });
  }

  /** Deletes the key if `check` does not throw, with both keys locked. Returns undefined if the key does not exist. */
  deleteAs(
    pair: KeyPair,
    check: (stored: ApiKeyEntity, maker: ApiKeyEntity | undefined) => void,
  ): Promise<ApiKeyEntity | undefined> {
    return this.keys.manager.transaction(async (manager) => {
      const { stored, maker } = await lockKeys(manager, pair);
      if (stored === undefined) return undefined;
      check(stored, maker);
      await manager.delete(ApiKeyEntity, { id: stored.id });
      return stored;
    });
  }

  findByHash(keyHash: string): Promise<ApiKeyEntity | null> {
    return this.keys.findOneBy({ keyHash });
  }

  /** The keys with these hashes, by hash, each with its organization's slug. Includes expired keys, for a specific error. */
  async findForAuthentication(keyHashes: readonly string[]): Promise<Map<string, ActiveApiKey>> {
    const rows: (ActiveApiKey & { keyHash: string })[] = await this.keys.query(
      `SELECT k.id, k.organization_id AS "organizationId", o.slug AS "organizationSlug", k.user_id AS "userId",
              k.permissions, md5(k.permissions::text) AS "permissionsDigest",
              octet_length(k.permissions::text) AS "permissionBytes", k.expires_at AS "expiresAt",
              k.key_hash AS "keyHash"
         FROM api_keys k JOIN organizations o ON o.id = k.organization_id
        WHERE k.key_hash = ANY($1)`,
      [keyHashes],
    );
    return new Map(rows.map(({ keyHash, ...key }) => [keyHash, key]));
  }

  /** The permission digests of the given keys by id, without deleted and expired keys. */
  async findUsable(ids: readonly string[]): Promise<Map<string, string>> {
    const rows: { id: string; digest: string }[] = await this.keys.query(
      `SELECT id, md5(permissions::text) AS digest FROM api_keys
        WHERE id = ANY($1) AND (expires_at IS NULL OR expires_at > now())`,
      [ids],
    );
    return new Map(rows.map(({ id, digest }) => [id, digest]));
  }

  /** For `paginate`; the alias is `key`. */
  queryOfOrganization(organizationId: string): SelectQueryBuilder<ApiKeyEntity> {
    return this.keys.createQueryBuilder('key').where('key.organizationId = :organizationId', { organizationId });
  }

  existsAny(organizationId: string): Promise<boolean> {
    return this.keys.existsBy({ organizationId });
  }

  async touch(id: string, at: Date): Promise<void> {
    await this.keys.query(`UPDATE api_keys SET last_used_at = $2 WHERE id = $1`, [id, at]);
  }
}

/** Locks both keys in a fixed order, so that transactions that change each other's makers cannot deadlock. */
async function lockKeys(
  manager: EntityManager,
  { organizationId, makerId, id }: KeyPair,
): Promise<{ stored: ApiKeyEntity | undefined; maker: ApiKeyEntity | undefined }> {
  const locked = await manager.find(ApiKeyEntity, {
    where: { organizationId, id: In([makerId, id]) },
    order: { id: 'ASC' },
    lock: { mode: 'for_no_key_update' },
  });
  // PostgreSQL returns UUIDs in lower case; callers can send upper case.
  const find = (wanted: string) => locked.find((key) => key.id === wanted.toLowerCase());
  return { stored: find(id), maker: find(makerId) };
}
