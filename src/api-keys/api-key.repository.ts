import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { ApiKeyEntity } from './api-key.entity.js';

/** What the auth guard needs to know of a key. */
export interface ActiveApiKey {
  id: string;
  organizationId: string;
  organizationSlug: string;
  userId: string;
  permissions: ApiKeyEntity['permissions'];
  expiresAt: Date | null;
}

@Injectable()
export class ApiKeyRepository {
  constructor(@InjectRepository(ApiKeyEntity) private readonly keys: Repository<ApiKeyEntity>) {}

  async insert(key: Omit<ApiKeyEntity, 'createdAt' | 'updatedAt' | 'lastUsedAt'>): Promise<ApiKeyEntity> {
    await this.keys.insert(key);
    return this.keys.findOneByOrFail({ id: key.id });
  }

  findByHash(keyHash: string): Promise<ApiKeyEntity | null> {
    return this.keys.findOneBy({ keyHash });
  }

  /** The key with this hash and its organization's slug; expired ones too, so that the answer can say so. */
  async findForAuthentication(keyHash: string): Promise<ActiveApiKey | undefined> {
    const rows: ActiveApiKey[] = await this.keys.query(
      `SELECT k.id, k.organization_id AS "organizationId", o.slug AS "organizationSlug", k.user_id AS "userId",
              k.permissions, k.expires_at AS "expiresAt"
         FROM api_keys k JOIN organizations o ON o.id = k.organization_id
        WHERE k.key_hash = $1`,
      [keyHash],
    );
    return rows[0];
  }

  /** What those of these keys may that still exist and have not expired, by id. */
  async findUsable(ids: readonly string[]): Promise<Map<string, ApiKeyEntity['permissions']>> {
    const rows: Pick<ApiKeyEntity, 'id' | 'permissions'>[] = await this.keys.query(
      `SELECT id, permissions FROM api_keys WHERE id = ANY($1) AND (expires_at IS NULL OR expires_at > now())`,
      [ids],
    );
    return new Map(rows.map(({ id, permissions }) => [id, permissions]));
  }

  findAllOfOrganization(organizationId: string): Promise<ApiKeyEntity[]> {
    return this.keys.find({ where: { organizationId }, order: { createdAt: 'ASC', id: 'ASC' } });
  }

  existsAny(organizationId: string): Promise<boolean> {
    return this.keys.existsBy({ organizationId });
  }

  findOfOrganization(organizationId: string, id: string): Promise<ApiKeyEntity | null> {
    return this.keys.findOneBy({ organizationId, id });
  }

  async update(id: string, change: Partial<Pick<ApiKeyEntity, 'name' | 'permissions'>>): Promise<ApiKeyEntity> {
    await this.keys.update({ id }, change);
    return this.keys.findOneByOrFail({ id });
  }

  async deleteOfOrganization(organizationId: string, id: string): Promise<boolean> {
    const result = await this.keys.delete({ organizationId, id });
    return result.affected === 1;
  }

  async touch(id: string, at: Date): Promise<void> {
    await this.keys.query(`UPDATE api_keys SET last_used_at = $2 WHERE id = $1`, [id, at]);
  }
}
