import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, IsNull, Repository } from 'typeorm';
import { newId } from '../../../core/ids.js';
import { accountKey } from '../../connection.js';
import { SEALED_COLUMNS } from '../../../platform/vault/sealed-columns.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { Account, AccountTokens } from './account-tokens.js';
import { UpstreamAuthorizationEntity } from './upstream-authorization.entity.js';

/** Whose account it is: with `accountUserId` a member's, otherwise the connection's. */
interface AccountOwner {
  readonly id: string;
  readonly organizationId: string;
  readonly accountUserId?: string | undefined;
}

/**
 * Longer than a request to an authorization server and what happens around it. A process that dies keeps it that long.
 */
const LEASE_S = 10;

/** An account, and the lease with which this process refreshes it; without one, that is not needed. */
interface LeasedAccount {
  readonly account: Account;
  readonly lease?: string;
}

/** What becomes of a stored account. */
export type AccountChange = { readonly kept: true } | { readonly replacement: Account } | { readonly removed: true };

type InTransaction = (manager: EntityManager) => Promise<void>;

@Injectable()
export class UpstreamAuthorizationRepository {
  constructor(
    @InjectRepository(UpstreamAuthorizationEntity) private readonly rows: Repository<UpstreamAuthorizationEntity>,
    private readonly vault: VaultService,
  ) {}

  /** By `accountKey`. */
  async findAll(keys: readonly string[]): Promise<Map<string, Account>> {
    const wanted = keys.map((key) => key.split('/'));
    const rows: { id: string }[] = await this.rows.query(
      `SELECT stored.id FROM upstream_authorizations AS stored
         JOIN unnest($1::uuid[], $2::uuid[]) AS wanted (connection_id, user_id)
           ON stored.connection_id = wanted.connection_id AND stored.user_id IS NOT DISTINCT FROM wanted.user_id`,
      [wanted.map(([id]) => id), wanted.map(([, userId]) => userId ?? null)],
    );
    const found = rows.length === 0 ? [] : await this.rows.findBy(rows);
    return new Map(
      found.map((row) => [
        accountKey({ id: row.connectionId, ...(row.userId !== null && { accountUserId: row.userId }) }),
        this.toAccount(row),
      ]),
    );
  }

  async find(owner: AccountOwner): Promise<Account | undefined> {
    const row = await this.rows.findOneBy(whereOf(owner));
    return row === null ? undefined : this.toAccount(row);
  }

  /**
   * Stores the account of a new log-in in place of the previous one, which can be that of a log-in at the same time.
   * @param alongside runs in the same transaction
   */
  async replace(owner: AccountOwner, account: Account, alongside: InTransaction): Promise<void> {
    await this.rows.manager.transaction(async (manager) => {
      await this.insert(
        manager,
        owner,
        account,
        `UPDATE SET id = excluded.id, connection_url = excluded.connection_url, tokens = excluded.tokens,
                    refresh_at = excluded.refresh_at, expires_at = excluded.expires_at,
                    id_token_id = excluded.id_token_id, refresh_lease = NULL, refresh_lease_until = NULL,
                    created_at = now(), updated_at = now()`,
      );
      await alongside(manager);
    });
  }

  /**
   * Stores an account for which no token was issued yet, unless the connection has one that such a token can replace.
   * Does nothing once the ID token has ended.
   */
  async open(owner: AccountOwner, account: Account): Promise<void> {
    await this.rows.manager.transaction(async (manager) => {
      if (!(await isIdTokenKept(manager, account))) return;
      await manager.query(
        `DELETE FROM upstream_authorizations
          WHERE connection_id = $1 AND user_id IS NOT DISTINCT FROM $2
            AND ((id_token_id IS NULL) <> ($4::uuid IS NULL) OR connection_url <> $3)`,
        [owner.id, owner.accountUserId ?? null, account.connectionUrl, account.idTokenId ?? null],
      );
      await this.insert(manager, owner, account, 'NOTHING');
    });
  }

  /** Removes the account and returns it; undefined if there was none. @param alongside runs in the same transaction */
  remove(owner: AccountOwner, alongside: InTransaction): Promise<Account | undefined> {
    return this.rows.manager.transaction(async (manager) => {
      const row = await findLocked(manager, owner);
      if (row === null) return undefined;
      await manager.delete(UpstreamAuthorizationEntity, { id: row.id });
      await alongside(manager);
      return this.toAccount(row);
    });
  }

  /** Removes the accounts that a person has at upstreams, in all organizations. */
  async removeOfPerson(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(UpstreamAuthorizationEntity, { userId });
  }

  /** Changes the tokens as `decide` says; undefined keeps them. Returns the account afterwards. */
  changeTokens(
    owner: AccountOwner,
    decide: (tokens: AccountTokens) => AccountTokens | undefined,
  ): Promise<Account | undefined> {
    return this.rows.manager.transaction(async (manager) => {
      const row = await findLocked(manager, owner);
      if (row === null) return undefined;
      const account = this.toAccount(row);
      const tokens = decide(account.tokens);
      if (tokens === undefined) return account;
      const changed = { ...account, tokens };
      await manager.update(UpstreamAuthorizationEntity, { id: row.id }, this.columnsOf(owner, changed));
      return changed;
    });
  }

  /**
   * Takes the lease for a refresh of the account, if `isNeeded`. Is `busy` while another process holds it, and
   * undefined without an account.
   */
  lease(owner: AccountOwner, isNeeded: (account: Account) => boolean): Promise<LeasedAccount | 'busy' | undefined> {
    return this.rows.manager.transaction(async (manager) => {
      const row = await findLocked(manager, owner);
      if (row === null) return undefined;
      const account = this.toAccount(row);
      if (!isNeeded(account)) return { account };
      const lease = randomUUID();
      const [, taken]: [unknown, number] = await manager.query(
        `UPDATE upstream_authorizations
           SET refresh_lease = $2, refresh_lease_until = now() + interval '${LEASE_S} seconds'
          WHERE id = $1 AND (refresh_lease_until IS NULL OR refresh_lease_until < now())`,
        [row.id, lease],
      );
      return taken === 0 ? 'busy' : { account, lease };
    });
  }

  /**
   * Ends the lease with what has become of the account, and returns the account afterwards. Changes nothing if the
   * lease is lost: another process has taken over, or there was a new log-in. An account whose ID token has ended
   * meanwhile is removed.
   */
  settle(owner: AccountOwner, lease: string, change: AccountChange): Promise<Account | undefined> {
    return this.rows.manager.transaction(async (manager) => {
      const hasEnded = 'replacement' in change && !(await isIdTokenKept(manager, change.replacement));
      const row = await findLocked(manager, owner);
      if (row === null) return undefined;
      const account = this.toAccount(row);
      if (row.refreshLease !== lease) return account;
      if ('removed' in change || hasEnded) {
        await manager.delete(UpstreamAuthorizationEntity, { id: row.id });
        return undefined;
      }
      const settled = 'kept' in change ? account : withDemands(change.replacement, account);
      const columns = { ...this.columnsOf(owner, settled), refreshLease: null, refreshLeaseUntil: null };
      await manager.update(UpstreamAuthorizationEntity, { id: row.id }, columns);
      return settled;
    });
  }

  /** @param onConflict what to do if the owner has an account */
  private async insert(
    manager: EntityManager,
    owner: AccountOwner,
    account: Account,
    onConflict: string,
  ): Promise<void> {
    const { connectionUrl, tokens, refreshAt, expiresAt, idTokenId } = this.columnsOf(owner, account);
    await manager.query(
      `INSERT INTO upstream_authorizations
         (id, organization_id, connection_id, user_id, connection_url, tokens, refresh_at, expires_at, id_token_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (connection_id, user_id) DO ${onConflict}`,
      [
        newId(),
        owner.organizationId,
        owner.id,
        owner.accountUserId ?? null,
        connectionUrl,
        tokens,
        refreshAt,
        expiresAt,
        idTokenId,
      ],
    );
  }

  private columnsOf(
    { id, accountUserId }: AccountOwner,
    { connectionUrl, tokens, refreshAt, expiresAt, idTokenId }: Account,
  ) {
    return {
      idTokenId: idTokenId ?? null,
      connectionUrl,
      tokens: this.vault.seal(JSON.stringify(tokens), contextOf(id, accountUserId ?? null)),
      refreshAt: toDate(refreshAt),
      expiresAt: toDate(expiresAt),
    };
  }

  private toAccount({
    connectionId,
    userId,
    connectionUrl,
    tokens,
    refreshAt,
    expiresAt,
    idTokenId,
  }: UpstreamAuthorizationEntity): Account {
    return {
      idTokenId: idTokenId ?? undefined,
      connectionUrl,
      // The envelope is authentic, so it contains what was sealed.
      tokens: JSON.parse(this.vault.open(tokens, contextOf(connectionId, userId))) as AccountTokens,
      refreshAt: refreshAt?.getTime() ?? Infinity,
      expiresAt: expiresAt?.getTime() ?? Infinity,
    };
  }
}

/** The scopes that the upstream has demanded during the refresh are kept. */
function withDemands(refreshed: Account, { tokens: { demandedScope } }: Account): Account {
  return { ...refreshed, tokens: { ...refreshed.tokens, demandedScope } };
}

/**
 * Locks the ID token of the account against its end, before the account itself: in the order in which that end locks
 * them. True for an account that has none.
 */
async function isIdTokenKept(manager: EntityManager, { idTokenId }: Account): Promise<boolean> {
  if (idTokenId === undefined) return true;
  const rows: unknown[] = await manager.query('SELECT FROM id_tokens WHERE id = $1 FOR KEY SHARE', [idTokenId]);
  return rows.length > 0;
}

function findLocked(manager: EntityManager, owner: AccountOwner): Promise<UpstreamAuthorizationEntity | null> {
  return manager.findOne(UpstreamAuthorizationEntity, {
    where: whereOf(owner),
    lock: { mode: 'pessimistic_write' },
  });
}

function whereOf({ id, accountUserId }: AccountOwner) {
  return { connectionId: id, userId: accountUserId ?? IsNull() };
}

function contextOf(connectionId: string, userId: string | null): string {
  return SEALED_COLUMNS.upstreamTokens.contextOf(`${connectionId}:${userId ?? ''}`);
}

function toDate(time: number): Date | null {
  return time === Infinity ? null : new Date(time);
}
