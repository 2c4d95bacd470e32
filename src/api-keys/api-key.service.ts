import { Injectable } from '@nestjs/common';
import { DomainError } from '../common/domain-error.js';
import { newId } from '../common/ids.js';
import { isWithin, type PermissionMap } from '../common/permissions.js';
import type { Principal } from '../common/principal.js';
import type { ApiKeyCreated, ApiKeyCreateInput, ApiKeyItem, ApiKeyUpdateInput } from './api-key.dto.js';
import type { ApiKeyEntity } from './api-key.entity.js';
import { ApiKeyRepository } from './api-key.repository.js';
import { generateApiKey, hashApiKey, VISIBLE_PREFIX_LENGTH } from '../common/api-key-value.js';
import { ApiKeyVerifier } from './api-key.verifier.js';

/** Life of API keys: each belongs to one organization, its value is shown once, and only its hash is kept. */
@Injectable()
export class ApiKeyService {
  constructor(
    private readonly repository: ApiKeyRepository,
    private readonly verifier: ApiKeyVerifier,
  ) {}

  async create(input: ApiKeyCreateInput, caller: Principal): Promise<ApiKeyCreated> {
    refuseWidening(input.permissions, caller);
    const value = generateApiKey();
    const expiresAt = input.expiresIn === undefined ? null : new Date(Date.now() + input.expiresIn * 1000);
    const key = await this.insert(value, {
      organizationId: caller.organization.id,
      userId: caller.userId,
      name: input.name,
      permissions: input.permissions,
      expiresAt,
    });
    const { id, name, permissions, expires_at, created_at } = toItem(key);
    return { id, name, key: value, permissions, expires_at, created_at };
  }

  async list(caller: Principal): Promise<ApiKeyItem[]> {
    const keys = await this.repository.findAllOfOrganization(caller.organization.id);
    return keys.map(toItem);
  }

  async update(input: ApiKeyUpdateInput, caller: Principal): Promise<ApiKeyItem> {
    if (input.permissions !== undefined) refuseWidening(input.permissions, caller);
    const key = await this.repository.findOfOrganization(caller.organization.id, input.id);
    if (key === null) throw unknownKey();
    const change = {
      ...(input.name === undefined ? {} : { name: input.name }),
      ...(input.permissions === undefined ? {} : { permissions: input.permissions }),
    };
    if (Object.keys(change).length === 0) return toItem(key);
    const updated = await this.repository.update(key.id, change);
    this.verifier.forget(key.keyHash);
    return toItem(updated);
  }

  async delete(id: string, caller: Principal): Promise<void> {
    const key = await this.repository.findOfOrganization(caller.organization.id, id);
    if (key === null || !(await this.repository.deleteOfOrganization(caller.organization.id, id))) throw unknownKey();
    this.verifier.forget(key.keyHash);
  }

  existsAny(organizationId: string): Promise<boolean> {
    return this.repository.existsAny(organizationId);
  }

  /** Stores a key whose value is already known (the bootstrap key). True if it was not there before. */
  async ensure(
    value: string,
    key: Pick<ApiKeyEntity, 'organizationId' | 'userId' | 'name' | 'permissions'>,
  ): Promise<boolean> {
    if ((await this.repository.findByHash(hashApiKey(value))) !== null) return false;
    await this.insert(value, { ...key, expiresAt: null });
    return true;
  }

  private insert(
    value: string,
    key: Pick<ApiKeyEntity, 'organizationId' | 'userId' | 'name' | 'permissions' | 'expiresAt'>,
  ): Promise<ApiKeyEntity> {
    const keyPrefix = value.slice(0, VISIBLE_PREFIX_LENGTH);
    return this.repository.insert({ ...key, id: newId(), keyPrefix, keyHash: hashApiKey(value) });
  }
}

function refuseWidening(permissions: PermissionMap, caller: Principal): void {
  if (!isWithin(permissions, caller.permissions)) {
    throw new DomainError('permission_widening', 'A key cannot be given permissions that its maker does not hold.');
  }
}

function unknownKey(): DomainError {
  return new DomainError('not_found', 'There is no API key with this id in the organization.');
}

function toItem(key: ApiKeyEntity): ApiKeyItem {
  return {
    id: key.id,
    name: key.name,
    prefix: key.keyPrefix,
    permissions: key.permissions,
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    updated_at: key.updatedAt.toISOString(),
  };
}
