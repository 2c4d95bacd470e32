import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { MAX_LIMIT, type ListInput } from '../../core/paging/list-input.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { paginate } from '../../core/paging/paginate.js';
import { isWithin } from '../../core/permissions.js';
import { changedRateLimit, type KeyRateLimit, type SpendLimit } from '../../core/limits.js';
import type { Principal } from '../../core/principal.js';
import type {
  ApiKeyCreated,
  ApiKeyCreateInput,
  ApiKeyDeleteInput,
  ApiKeyItem,
  ApiKeyPage,
  ApiKeyUpdateInput,
} from './api-key.dto.js';
import type { ApiKeyEntity } from './api-key.entity.js';
import { ApiKeyRepository, type LockedMaker, type NewApiKey } from './api-key.repository.js';
import { generateApiKey, hashApiKey, VISIBLE_PREFIX_LENGTH } from '../../core/api-key-value.js';
import { PasswordChanges } from '../users/password-changes.js';
import { ApiKeyVerifier } from './api-key.verifier.js';
import { expiryIn, hasExpired, outlives, KeyMaker } from './key-rights.js';

const KEY_LIST: ListSpec = {
  name: 'api-keys',
  fields: {
    id: { column: 'key.id', type: 'uuid' },
    name: { column: 'key.name', type: 'string' },
    maker_key_id: { column: 'key.makerKeyId', type: 'uuid', nullable: true },
    expires_at: { column: 'key.expiresAt', type: 'date', nullable: true },
    last_used_at: { column: 'key.lastUsedAt', type: 'date', nullable: true },
    created_at: { column: 'key.createdAt', type: 'date' },
    updated_at: { column: 'key.updatedAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'asc' }],
  rowBytes: '512 + json_octets(key.permissions)',
  tieBreaker: 'id',
};

/** Manages API keys. Each key belongs to one organization. Its value is returned once, and only its hash is stored. */
@Injectable()
export class ApiKeyService {
  constructor(
    private readonly repository: ApiKeyRepository,
    private readonly verifier: ApiKeyVerifier,
    passwordChanges: PasswordChanges,
  ) {
    passwordChanges.registerForOwner((manager, userId) => this.repository.deleteOfPerson(manager, userId));
  }

  /**
   * @throws DomainError `permission_widening` for permissions or a lifetime beyond the caller's own, `limit_reached`
   */
  async create(input: ApiKeyCreateInput, caller: Principal): Promise<ApiKeyCreated> {
    const value = generateApiKey();
    const created = await this.insert(value, input, caller);
    const { id, name, rateLimit, spend } = created;
    return {
      id,
      name,
      key: value,
      permissions: created.permissions,
      ...(rateLimit !== null && { rate_limit: rateLimit }),
      ...(spend !== null && { spend }),
      expires_at: created.expiresAt?.toISOString() ?? null,
      created_at: created.createdAt.toISOString(),
    };
  }

  /**
   * Creates a key that acts for something else, such as an OAuth client. Nobody learns its value.
   * @param store stores what the key acts for, in the same transaction
   * @throws what `create` throws
   */
  async createFor(
    input: Pick<ApiKeyCreateInput, 'name' | 'permissions'>,
    caller: Principal,
    store: (manager: EntityManager, keyId: string) => Promise<void>,
  ): Promise<void> {
    await this.insert(generateApiKey(), input, caller, store);
  }

  private async insert(
    value: string,
    input: ApiKeyCreateInput,
    caller: Principal,
    store?: (manager: EntityManager, keyId: string) => Promise<void>,
  ): Promise<ApiKeyEntity> {
    const expiresAt = expiryIn(input.expiresIn ?? null);
    const { permissions } = input;
    const rateLimit = changedRateLimit<KeyRateLimit>(null, input.rate_limit ?? null);
    const spend = changedRateLimit<SpendLimit>(null, input.spend ?? null);
    const { id: organizationId } = caller.organization;
    const limits = {
      grantId: caller.grantId,
      makerKeyId: caller.apiKeyId,
      quotaKeyId: null,
      resource: caller.resource ?? null,
      scope: caller.scopes?.join(' ') ?? null,
    };
    const key = toKey(value, {
      ...limits,
      organizationId,
      userId: caller.userId,
      name: input.name,
      permissions,
      rateLimit,
      spend,
      expiresAt,
    });
    const connectionIds = await this.repository.findConnections(organizationId, permissions);
    const check = (locked: LockedMaker | undefined): void => {
      const maker = new KeyMaker(caller, locked);
      maker.assertHolds(permissions);
      KeyMaker.assertOpens(key.resource, connectionIds);
      maker.assertOutlives(expiresAt);
      maker.assertLimits(rateLimit);
    };
    return this.repository.insertAs(caller, key, check, store && ((manager) => store(manager, key.id)));
  }

  /** Returns all keys, unless a limit is given or they exceed the size of a page. */
  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<ApiKeyPage> {
    const query = this.repository.queryOfOrganization(caller.organization.id);
    const page = await paginate(query, KEY_LIST, { ...input, limit: input.limit ?? MAX_LIMIT }, answer);
    return { ...page, items: await this.toItems(page.items) };
  }

  /** @throws DomainError `not_found`, `permission_widening`, `conflict` for a new expiry of a key that has expired */
  async update(input: ApiKeyUpdateInput, caller: Principal): Promise<ApiKeyItem> {
    const { id, name, permissions, expiresIn, rate_limit: limitChange, spend: spendChange } = input;
    const expiresAt = expiresIn === undefined ? undefined : expiryIn(expiresIn);
    const connectionIds = await this.repository.findConnections(caller.organization.id, permissions ?? {});
    const updated = await this.repository.updateAs({ caller, id }, (key, locked) => {
      const maker = new KeyMaker(caller, locked);
      if (permissions !== undefined) maker.assertHolds(permissions);
      maker.assertCanChange(key);
      KeyMaker.assertOpens(key.resource, connectionIds);
      const rateLimit = limitChange === undefined ? undefined : changedRateLimit(key.rateLimit, limitChange);
      if (rateLimit !== undefined) maker.assertLimits(rateLimit);
      const spend = spendChange === undefined ? undefined : changedRateLimit(key.spend, spendChange);
      if (spend !== undefined) maker.assertCanSpend(spend, key.spend);
      // The permissions of a key that expires later would outlive the granting key.
      const addsPermissions = permissions !== undefined && !isWithin(permissions, key.permissions);
      const isProlonged = expiresAt !== undefined && outlives(expiresAt, key.expiresAt);
      if (addsPermissions || isProlonged) maker.assertOutlives(expiresAt === undefined ? key.expiresAt : expiresAt);
      if (expiresAt !== undefined && hasExpired(key.expiresAt))
        throw new DomainError('conflict', 'The key has expired. Create a new one.');
      return {
        ...(name === undefined ? {} : { name }),
        ...(permissions === undefined ? {} : { permissions }),
        ...(rateLimit === undefined ? {} : { rateLimit }),
        ...(spend === undefined ? {} : { spend }),
        ...(expiresAt === undefined ? {} : { expiresAt }),
      };
    });
    if (updated === undefined) throw unknownKey();
    this.verifier.forget(updated.keyHash);
    const [item] = await this.toItems([updated]);
    return item as ApiKeyItem;
  }

  /**
   * @returns how many keys the key has made, directly or through them
   * @throws DomainError `not_found`, `permission_widening`, `conflict` for a key with a spending limit whose keys are
   * kept
   */
  async delete({ id, children = 'delete' }: ApiKeyDeleteInput, caller: Principal): Promise<number> {
    const result = await this.repository.deleteAs(
      { caller, id, keepsChildren: children === 'keep' },
      (keys, locked) => {
        const maker = new KeyMaker(caller, locked);
        for (const key of keys) maker.assertCanChange(key);
      },
    );
    if (result === undefined) throw unknownKey();
    for (const { keyHash } of result.deleted) this.verifier.forget(keyHash);
    return result.children;
  }

  private async toItems(keys: readonly ApiKeyEntity[]): Promise<ApiKeyItem[]> {
    const names = await this.repository.findNames(keys.flatMap(({ makerKeyId }) => makerKeyId ?? []));
    return keys.map((key) => toItem(key, names));
  }

  existsAny(organizationId: string): Promise<boolean> {
    return this.repository.existsAny(organizationId);
  }

  /** Stores a key with a given value (the bootstrap key). Returns true if it is new. */
  async ensure(
    value: string,
    key: Pick<ApiKeyEntity, 'organizationId' | 'userId' | 'name' | 'permissions'>,
  ): Promise<boolean> {
    if ((await this.repository.findByHash(hashApiKey(value))) !== null) return false;
    const { keyHash } = await this.repository.insert(
      toKey(value, {
        ...key,
        rateLimit: null,
        spend: null,
        grantId: null,
        makerKeyId: null,
        quotaKeyId: null,
        resource: null,
        scope: null,
        expiresAt: null,
      }),
    );
    // A configured key may have been sent, and cached as unknown, before.
    this.verifier.forget(keyHash);
    return true;
  }
}

function toKey(value: string, key: Omit<NewApiKey, 'id' | 'keyPrefix' | 'keyHash'>): NewApiKey {
  const keyPrefix = value.slice(0, VISIBLE_PREFIX_LENGTH);
  return { ...key, id: newId(), keyPrefix, keyHash: hashApiKey(value) };
}

function unknownKey(): DomainError {
  return new DomainError('not_found', 'The organization has no API key with this id.');
}

function toItem(key: ApiKeyEntity, names: ReadonlyMap<string, string>): ApiKeyItem {
  return {
    id: key.id,
    name: key.name,
    prefix: key.keyPrefix,
    permissions: key.permissions,
    rate_limit: key.rateLimit,
    spend: key.spend,
    maker_key: key.makerKeyId === null ? null : { id: key.makerKeyId, name: names.get(key.makerKeyId) ?? '' },
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    updated_at: key.updatedAt.toISOString(),
  };
}
