import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { AppConfig } from '../../core/config/app-config.js';
import { DeletesExpired } from '../../core/deletes-expired.js';
import { newId } from '../../core/ids.js';
import { deleteBatch } from '../../platform/database/delete-batch.js';
import { SEALED_COLUMNS } from '../../platform/vault/sealed-columns.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { IS_OPEN } from '../browser-sessions/browser-session.repository.js';
import { IdTokenEntity } from './id-token.entity.js';
import type { IssuedTokens } from './openid-client.js';

/** Longer than the request to the issuer and the discovery before it. A process that dies keeps the lease that long. */
const LEASE = "interval '15 seconds'";
/** SQL: whether an ID token, as the row `t`, is not valid for long enough to be presented. */
const IS_EXPIRED = "t.expires_at <= now() + interval '10 seconds'";
/** SQL: connections that need ID tokens. */
const ENTERPRISE = "c.oauth ->> 'isEnterprise' = 'true'";
/** SQL: whether the person of a session, as the row `s`, is a member where such a connection exists. */
const IS_NEEDED = `EXISTS (SELECT FROM members m JOIN connections c ON c.organization_id = m.organization_id
  WHERE m.user_id = s.user_id AND ${ENTERPRISE})`;

interface StoredIdToken {
  readonly id: string;
  readonly tokens: IssuedTokens;
  /** True if it has to be replaced before it is presented. */
  readonly isExpired: boolean;
}

/** One for whose replacement this process holds the lease. What is done with it changes nothing once that is lost. */
export interface LeasedIdToken extends StoredIdToken {
  /** When the lease ends. Identifies it: a later one ends later. */
  readonly leaseUntil: Date;
}

@Injectable()
export class IdTokenRepository {
  private readonly issuer: string | null;

  constructor(
    @InjectRepository(IdTokenEntity) private readonly rows: Repository<IdTokenEntity>,
    private readonly vault: VaultService,
    { settings }: AppConfig,
  ) {
    this.issuer = settings.oidc?.issuer ?? null;
  }

  /** Whether any connection needs ID tokens. */
  async areNeeded(): Promise<boolean> {
    const rows: unknown[] = await this.rows.query(`SELECT FROM connections c WHERE ${ENTERPRISE} LIMIT 1`);
    return rows.length > 0;
  }

  /** Stores the tokens of a sign-in for its browser session, if a connection that the person can use needs them. */
  async insert(sessionHash: string, tokens: IssuedTokens): Promise<void> {
    const id = newId();
    const { sealed, expiresAt, isRefreshable } = this.columnsOf(id, tokens);
    await this.rows.query(
      `INSERT INTO id_tokens (id, session_id, issuer, tokens, expires_at, is_refreshable)
       SELECT $1, s.id, $3, $4, $5, $6 FROM browser_sessions s WHERE s.secret_hash = $2 AND ${IS_NEEDED}`,
      [id, sessionHash, this.issuer, sealed, expiresAt, isRefreshable],
    );
  }

  /** That of the person's latest sign-in with the present issuer, in a browser that is still signed in. */
  async findLatest(userId: string): Promise<StoredIdToken | undefined> {
    const [row]: { id: string; tokens: string; isExpired: boolean }[] = await this.rows.query(
      `SELECT t.id, t.tokens, ${IS_EXPIRED} AS "isExpired"
         FROM id_tokens t JOIN browser_sessions s ON s.id = t.session_id
        WHERE s.user_id = $1 AND t.issuer = $2 AND ${IS_OPEN} AND (t.is_refreshable OR NOT ${IS_EXPIRED})
        ORDER BY t.created_at DESC LIMIT 1`,
      [userId, this.issuer],
    );
    if (row === undefined) return undefined;
    const { id, tokens, isExpired } = row;
    // The envelope is authentic, so it contains what was sealed.
    return { id, isExpired, tokens: JSON.parse(this.vault.open(tokens, contextOf(id))) as IssuedTokens };
  }

  /** Takes the lease for a request of another ID token; undefined while another process holds it, or has got one. */
  async lease(stored: StoredIdToken): Promise<LeasedIdToken | undefined> {
    const { id, tokens } = stored;
    const [[row]]: [{ leaseUntil: Date }[], number] = await this.rows.query(
      `UPDATE id_tokens SET refresh_lease_until = now() + ${LEASE}
        WHERE id = $1 AND expires_at = $2 AND (refresh_lease_until IS NULL OR refresh_lease_until < now())
        RETURNING refresh_lease_until AS "leaseUntil"`,
      [id, new Date(tokens.expiresAt)],
    );
    return row && { ...stored, ...row };
  }

  /** Ends the lease, and stores what the issuer has issued in place of the former tokens; false if it is lost. */
  async replace(leased: LeasedIdToken, tokens: IssuedTokens): Promise<boolean> {
    const { sealed, ...columns } = this.columnsOf(leased.id, tokens);
    const change = { tokens: sealed, ...columns, refreshLeaseUntil: null };
    const { affected } = await this.rows.update(whereOf(leased), change);
    return affected === 1;
  }

  async endLease(leased: LeasedIdToken): Promise<void> {
    await this.rows.update(whereOf(leased), { refreshLeaseUntil: null });
  }

  async remove(leased: LeasedIdToken): Promise<void> {
    await this.rows.delete(whereOf(leased));
  }

  /** Those of another issuer, of sessions that have ended, and those that no connection needs any more. */
  @DeletesExpired('ID tokens')
  deleteExpired(): Promise<number> {
    return deleteBatch(
      this.rows,
      'id_tokens',
      `id NOT IN (SELECT t.id FROM id_tokens t JOIN browser_sessions s ON s.id = t.session_id
         WHERE t.issuer = $1 AND ${IS_OPEN} AND ${IS_NEEDED})`,
      [this.issuer],
    );
  }

  private columnsOf(id: string, tokens: IssuedTokens) {
    const sealed = this.vault.seal(JSON.stringify(tokens), contextOf(id));
    return { sealed, expiresAt: new Date(tokens.expiresAt), isRefreshable: tokens.refreshToken !== undefined };
  }
}

function whereOf({ id, leaseUntil }: LeasedIdToken) {
  return { id, refreshLeaseUntil: leaseUntil };
}

function contextOf(id: string): string {
  return SEALED_COLUMNS.idToken.contextOf(id);
}
