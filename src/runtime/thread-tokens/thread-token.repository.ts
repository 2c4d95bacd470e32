import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { KeyLimit, OrganizationLimits } from '../../core/limits.js';
import type { RunAccess } from '../../core/principal.js';
import { ThreadTokenEntity } from './thread-token.entity.js';

/** How many expired tokens the creation of one deletes at most. */
const EXPIRED_PER_CREATION = 100;

/** A token with what its thread and its organization say. */
export interface StoredThreadToken extends Omit<ThreadTokenEntity, 'createdAt'> {
  readonly organizationSlug: string;
  readonly runAccess: RunAccess;
  readonly limits: OrganizationLimits;
  /** Of the API key that made the token. */
  readonly keyLimits: readonly KeyLimit[] | null;
  readonly agentId: string;
}

@Injectable()
export class ThreadTokenRepository {
  constructor(@InjectRepository(ThreadTokenEntity) private readonly tokens: Repository<ThreadTokenEntity>) {}

  /** Inserts a token. Also deletes expired ones, so that they do not accumulate. */
  async insert(token: Omit<ThreadTokenEntity, 'createdAt'>): Promise<void> {
    await this.tokens.insert(token);
    await this.tokens.query(
      `DELETE FROM thread_tokens WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM thread_tokens WHERE expires_at < now() - interval '1 minute' LIMIT $1 FOR UPDATE SKIP LOCKED
       ))`,
      [EXPIRED_PER_CREATION],
    );
  }

  /** The tokens with these hashes, expired ones included, for a specific error. */
  findByHash(hashes: readonly string[]): Promise<StoredThreadToken[]> {
    return this.find('token.token_hash = ANY($1)', hashes);
  }

  /** The tokens with these ids that have not expired. */
  findUnexpired(ids: readonly string[], manager?: EntityManager): Promise<StoredThreadToken[]> {
    return this.find('token.id = ANY($1) AND token.expires_at > now()', ids, manager);
  }

  private find(
    condition: string,
    values: readonly string[],
    manager: EntityManager = this.tokens.manager,
  ): Promise<StoredThreadToken[]> {
    return manager.query(
      `SELECT token.id, token.organization_id AS "organizationId", token.thread_id AS "threadId",
              token.token_hash AS "tokenHash", token.permissions, token.maker_kind AS "makerKind",
              token.maker_id AS "makerId",
              token.caller_id AS "callerId", token.user_id AS "userId", token.api_key_id AS "apiKeyId",
              token.grant_id AS "grantId", token.client_id AS "clientId", token.resource, token.scopes,
              token.expires_at AS "expiresAt", o.slug AS "organizationSlug", o.run_access AS "runAccess", o.limits,
              line.limits AS "keyLimits",
              threads.virtual_mcp_id AS "agentId"
         FROM thread_tokens token
         JOIN organizations o ON o.id = token.organization_id
         JOIN threads ON threads.organization_id = token.organization_id AND threads.id = token.thread_id
         LEFT JOIN LATERAL api_key_line(token.api_key_id) AS line ON true
        WHERE ${condition}`,
      [values],
    );
  }
}
