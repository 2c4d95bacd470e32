import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import { Repository } from 'typeorm';
import { newId } from '../../../core/ids.js';
import { SEALED_COLUMNS } from '../../../platform/vault/sealed-columns.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { AccountTokens, TokenServer } from '../tokens/account-tokens.js';
import { UpstreamLogInEntity } from './upstream-log-in.entity.js';

const LIFETIME_MINUTES = 30;

/** What the answer of the authorization server is checked against and redeemed with. Secret: never log it. */
interface LogInDetails extends Omit<AccountTokens, 'accessToken' | 'refreshToken'> {
  readonly server: TokenServer & { readonly authorization_response_iss_parameter_supported?: boolean | undefined };
  readonly client: OAuthClientInformationMixed;
  readonly codeVerifier: string;
  readonly redirectUri: string;
  /** The connection's URL at the beginning. */
  readonly connectionUrl: string;
  /** Whose account it becomes: a member's, or (null) the connection's. */
  readonly accountUserId: string | null;
}

/** The browser in which a person is signed in. */
export interface SignedInBrowser {
  readonly userId: string;
  /** Identifies the browser session. */
  readonly sessionId: string;
}

export interface LogIn extends LogInDetails {
  readonly connectionId: string;
}

@Injectable()
export class UpstreamLogInRepository {
  constructor(
    @InjectRepository(UpstreamLogInEntity) private readonly rows: Repository<UpstreamLogInEntity>,
    private readonly vault: VaultService,
  ) {}

  /** Also removes what has expired. */
  async insert(state: string, browser: SignedInBrowser, connectionId: string, details: LogInDetails): Promise<void> {
    const id = newId();
    const sealed = this.vault.seal(JSON.stringify(details), SEALED_COLUMNS.upstreamLogIn.contextOf(id));
    await this.rows.query('DELETE FROM upstream_log_ins WHERE expires_at < now()');
    await this.rows.query(
      `INSERT INTO upstream_log_ins (id, state_hash, session_hash, connection_id, user_id, details, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, now() + interval '${LIFETIME_MINUTES} minutes')`,
      [id, sha256(state), sha256(browser.sessionId), connectionId, browser.userId, sealed],
    );
  }

  /** Removes the log-in that this browser began with this state, and returns it; undefined if there is none. */
  async take(state: string, browser: SignedInBrowser): Promise<LogIn | undefined> {
    const [rows]: [{ id: string; connection_id: string; details: string }[], number] = await this.rows.query(
      `DELETE FROM upstream_log_ins
        WHERE state_hash = $1 AND session_hash = $2 AND user_id = $3 AND expires_at > now()
        RETURNING id, connection_id, details`,
      [sha256(state), sha256(browser.sessionId), browser.userId],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    // The envelope is authentic, so it contains what was sealed.
    const details = this.vault.open(row.details, SEALED_COLUMNS.upstreamLogIn.contextOf(row.id));
    return { ...(JSON.parse(details) as LogInDetails), connectionId: row.connection_id };
  }
}

function sha256(text: string): string {
  return hash('sha256', text);
}
