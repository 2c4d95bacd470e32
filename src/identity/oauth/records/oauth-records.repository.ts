import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { AdapterPayload } from 'oidc-provider';
import { type EntityManager, Repository } from 'typeorm';
import { hash } from 'node:crypto';
import { databaseNow } from '../../../core/database-time.js';
import { DeletesExpired } from '../../../core/deletes-expired.js';
import { deleteBatch } from '../../../platform/database/delete-batch.js';
import { transactionInTurn } from '../../../platform/database/organization-locks.js';
import { SEALED_COLUMNS } from '../../../platform/vault/sealed-columns.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import { OauthRecordEntity } from './oauth-record.entity.js';

/** With the hash of a source, the key of a lock. */
const REGISTRATION_LOCK = 0x53424f52;

/** What is stored in addition to a payload. */
interface RecordDetails {
  /** In seconds; absent for a record that does not expire. */
  readonly expiresIn?: number | undefined;
  readonly clientId?: string | undefined;
  /** The network that the request came from (`networkOf`), for models with a limit. */
  readonly source?: string | undefined;
  /** The path of the resource of a client's own token. */
  readonly resource?: string | undefined;
}

/** The model of what works once. */
const USED_ONCE = 'ReplayDetection';

/** Models whose records carry tokens of a grant. */
const REVOKED_WITH_GRANT = ['AccessToken', 'RefreshToken', 'AuthorizationCode'];

/** Stores the payloads of the authorization server's models. */
@Injectable()
export class OauthRecordsRepository {
  constructor(
    @InjectRepository(OauthRecordEntity) private readonly records: Repository<OauthRecordEntity>,
    private readonly vault: VaultService,
  ) {}

  /** Stores a record, or replaces its payload. */
  async upsert(
    model: string,
    value: string,
    payload: AdapterPayload,
    { expiresIn, clientId, source, resource }: RecordDetails,
    manager: EntityManager = this.records.manager,
  ): Promise<void> {
    const id = recordId(model, value);
    const { grantId, uid, scope } = payload;
    await manager.query(
      `INSERT INTO oauth_records (id, model, payload, grant_id, uid_id, client_id, source, scope, resource, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10))
       ON CONFLICT (id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id,
       uid_id = excluded.uid_id,
         expires_at = excluded.expires_at`,
      [
        id,
        model,
        this.vault.seal(JSON.stringify(payload), SEALED_COLUMNS.oauthRecord.contextOf(id)),
        grantId === undefined ? null : recordId('Grant', grantId),
        uid === undefined ? null : recordId('uid', uid),
        clientId ?? null,
        source ?? null,
        typeof scope === 'string' ? scope.slice(0, 256) : null,
        resource ?? null,
        expiresIn ?? null,
      ],
    );
  }

  /**
   * Notes the use of something that works once. Returns false if it was used before, in whichever process.
   * @param value with its kind
   * @param expiresIn seconds after which it is not valid any more
   */
  async useOnce(value: string, expiresIn: number, manager: EntityManager = this.records.manager): Promise<boolean> {
    const id = recordId(USED_ONCE, value);
    const rows: object[] = await manager.query(
      `INSERT INTO oauth_records (id, model, payload, expires_at)
       VALUES ($1, $2, $3, now() + make_interval(secs => $4)) ON CONFLICT (id) DO NOTHING RETURNING id`,
      [id, USED_ONCE, this.vault.seal('{}', SEALED_COLUMNS.oauthRecord.contextOf(id)), expiresIn],
    );
    return rows.length > 0;
  }

  /**
   * Stores a registered client, unless as many as the limit allows were registered from its source within the last
   * hour. Concurrent registrations from one source wait for each other. Returns false if the limit is reached.
   */
  async register(
    clientId: string,
    payload: AdapterPayload,
    { source, max }: { source: string; max: number },
  ): Promise<boolean> {
    return transactionInTurn(this.records.manager, ['registrations', source], async (manager) => {
      await manager.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [REGISTRATION_LOCK, source]);
      if ((await this.countOfSource('Client', source, manager)) >= max) return false;
      await this.upsert('Client', clientId, payload, { clientId, source }, manager);
      return true;
    });
  }

  async find(model: string, value: string): Promise<AdapterPayload | undefined> {
    const record = await this.records.findOneBy({ model, id: recordId(model, value) });
    if (record === null || (record.expiresAt !== null && record.expiresAt.getTime() <= databaseNow())) return undefined;
    const payload = this.vault.open(record.payload, SEALED_COLUMNS.oauthRecord.contextOf(record.id));
    const consumed = record.consumedAt === null ? {} : { consumed: Math.floor(record.consumedAt.getTime() / 1000) };
    return { ...(JSON.parse(payload) as AdapterPayload), ...consumed };
  }

  /** When the record was made, by the clock of the database. */
  async createdAt(model: string, value: string): Promise<Date | undefined> {
    return (await this.records.findOneBy({ model, id: recordId(model, value) }))?.createdAt;
  }

  /** Marks the record as used. Returns false if it has been used before or no longer exists. */
  async consume(model: string, value: string): Promise<boolean> {
    const [, count] = await this.records.query(
      'UPDATE oauth_records SET consumed_at = now() WHERE id = $1 AND consumed_at IS NULL',
      [recordId(model, value)],
    );
    return count === 1;
  }

  async delete(model: string, value: string): Promise<void> {
    await this.records.delete({ id: recordId(model, value) });
  }

  /** Deletes the records of one model that were issued for the grant. */
  async deleteOfGrant(model: string, grantId: string): Promise<void> {
    await this.records.delete({ model, grantId });
  }

  /**
   * Deletes the grant and everything that was issued for it. The grant comes first, as in
   * `OauthGrantsRepository.revoke`: within one statement, PostgreSQL would delete the records first.
   */
  async deleteGrant(id: string): Promise<void> {
    await this.records.manager.transaction(async (manager) => {
      await manager.query('DELETE FROM oauth_grants WHERE id = $1', [id]);
      await manager.query('DELETE FROM oauth_records WHERE id = $1 OR (grant_id = $1 AND model = ANY($2))', [
        id,
        REVOKED_WITH_GRANT,
      ]);
    });
  }

  async hasGrant(id: string): Promise<boolean> {
    const [row] = await this.records.query('SELECT EXISTS (SELECT FROM oauth_grants WHERE id = $1) AS found', [id]);
    return row.found;
  }

  /** Deletes a client's metadata and every grant to it. */
  async deleteClient(clientId: string): Promise<void> {
    await this.records.query(
      `WITH gone AS (DELETE FROM oauth_grants WHERE client_id = $1 RETURNING id)
       DELETE FROM oauth_records WHERE client_id = $1 OR grant_id IN (SELECT id FROM gone)
         OR id IN (SELECT id FROM gone)`,
      [clientId],
    );
  }

  /** The number of records of a model that a source has had stored within the last hour. */
  async countOfSource(
    model: 'Client' | 'Interaction',
    source: string,
    manager: EntityManager = this.records.manager,
  ): Promise<number> {
    const [row] = await manager.query(
      `SELECT count(*)::int AS count FROM oauth_records
        WHERE source = $1 AND model = $2 AND created_at > now() - interval '1 hour'`,
      [source, model],
    );
    return row.count;
  }

  /**
   * Deletes expired records, registered clients that got no grant within a day, and grants whose last token has
   * expired.
   */
  @DeletesExpired('OAuth records')
  async deleteExpired(): Promise<number> {
    const deleted = await Promise.all([
      // A used refresh token is kept until it would have expired: its reuse revokes the grant.
      deleteBatch(this.records, 'oauth_records', 'expires_at < now()'),
      deleteBatch(
        this.records,
        'oauth_records',
        `model = 'Grant' AND created_at < now() - interval '1 day'
         AND NOT EXISTS (SELECT FROM oauth_grants WHERE oauth_grants.id = oauth_records.id)`,
      ),
      deleteBatch(
        this.records,
        'oauth_records',
        `model = 'Client' AND created_at < now() - interval '1 day'
         AND NOT EXISTS (SELECT FROM oauth_grants WHERE oauth_grants.client_id = oauth_records.client_id)
         AND NOT EXISTS (SELECT FROM oauth_clients WHERE oauth_clients.client_id = oauth_records.client_id)`,
      ),
      deleteBatch(
        this.records,
        'oauth_grants',
        `NOT is_remembered AND created_at < now() - interval '1 day'
         AND NOT EXISTS (SELECT FROM oauth_records WHERE oauth_records.grant_id = oauth_grants.id)`,
      ),
    ]);
    return deleted.reduce((sum, count) => sum + count);
  }
}

/**
 * The id under which a value of the authorization server is stored: the first 128 bits of a SHA-256 hash in the form of
 * a UUID (version 8, RFC 9562 §5.8). The values are random, so their ids reveal nothing about them. Both models of
 * access tokens share their ids, because the value of a token does not say which of them it is.
 * @param model of oidc-provider, such as `AccessToken`
 */
export function recordId(model: string, value: string): string {
  const hex = hash('sha256', `${model === 'ClientCredentials' ? 'AccessToken' : model}:${value}`);
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
