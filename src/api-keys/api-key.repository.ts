import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, LessThan, Repository, type SelectQueryBuilder } from 'typeorm';
import { requireRoom } from '../database/require-room.js';
import { ApiKeyEntity } from './api-key.entity.js';

/** Per organization: the permissions of those in use are in memory. */
const MAX_KEYS = { max: 1000, what: 'API keys' };
/** How long an expired key is still listed. */
const EXPIRED_KEPT_MS = 30 * 24 * 3_600_000;

/** What the auth guard needs to know of a key. */
export interface ActiveApiKey {
  id: string;
  organizationId: string;
  organizationSlug: string;
  userId: string;
  permissions: ApiKeyEntity['permissions'];
  permissionsDigest: string;
  /** Of the permissions as JSON. */
  permissionBytes: number;
  expiresAt: Date | null;
}

/** A key that changes keys, and a key of the same organization that it changes. */
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
   * Inserts a key if `check` lets it. The maker is locked meanwhile: what is checked is what it holds when the key is made, and
   * a deletion of the maker comes before or after. Keys that expired long ago are deleted with the same stroke.
   * @param check is given the maker, undefined when it does not exist any more; when it throws nothing is stored
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
   * Writes what `decide` makes of the stored key; both keys are locked meanwhile. What `decide` throws leaves it as it was.
   * Undefined if there is no such key.
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

  /** Deletes the key if `check` lets it; both keys are locked meanwhile. Undefined if there is no such key. */
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

  /** The keys with these hashes, by hash, each with its organization's slug; expired ones too, so that the answer can say so. */
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

  /** The digests of what those of these keys may that still exist and have not expired, by id. */
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

/** Locks both in one order for everybody: transactions that change each other's makers cannot wait in a circle. */
async function lockKeys(
  manager: EntityManager,
  { organizationId, makerId, id }: KeyPair,
): Promise<{ stored: ApiKeyEntity | undefined; maker: ApiKeyEntity | undefined }> {
  const locked = await manager.find(ApiKeyEntity, {
    where: { organizationId, id: In([makerId, id]) },
    order: { id: 'ASC' },
    lock: { mode: 'for_no_key_update' },
  });
  // PostgreSQL writes UUIDs in lower case, callers may not.
  const find = (wanted: string) => locked.find((key) => key.id === wanted.toLowerCase());
  return { stored: find(id), maker: find(makerId) };
}
