import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { BrowserSessionEntity } from './browser-session.entity.js';

/** A person whose browser is signed in. */
export interface SignedInUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** Identifies the browser session; it is not its secret. States of external sign-ins can be bound to it. */
  readonly sessionId: string;
  readonly signedInAt: Date;
}

/** A session ends after this time without a request. */
const IDLE = "interval '7 days'";
/** `last_seen_at` is not written more often, because a write per request would cost too much. */
const LAST_SEEN_RESOLUTION = "interval '5 minutes'";

/** SQL: whether a session, as the row `s`, is open, and whether its `last_seen_at` has to be written. */
export const IS_OPEN = `s.expires_at > now() AND s.last_seen_at > now() - ${IDLE}`;
export const IS_STALE = `s.last_seen_at < now() - ${LAST_SEEN_RESOLUTION}`;

@Injectable()
export class BrowserSessionRepository {
  constructor(@InjectRepository(BrowserSessionEntity) private readonly sessions: Repository<BrowserSessionEntity>) {}

  async insert(session: Pick<BrowserSessionEntity, 'id' | 'secretHash' | 'userId' | 'expiresAt'>): Promise<void> {
    await this.sessions.query(
      `WITH ended AS (DELETE FROM browser_sessions
         WHERE user_id = $3 AND (expires_at < now() OR last_seen_at < now() - ${IDLE}))
       INSERT INTO browser_sessions (id, secret_hash, user_id, last_seen_at, expires_at)
       VALUES ($1, $2, $3, now(), $4)`,
      [session.id, session.secretHash, session.userId, session.expiresAt],
    );
  }

  async findUser(secretHash: string): Promise<SignedInUser | undefined> {
    const [found]: (SignedInUser & { isStale: boolean })[] = await this.sessions.query(
      `SELECT u.id, u.email, u.name, s.id AS "sessionId", s.created_at AS "signedInAt", ${IS_STALE} AS "isStale"
         FROM browser_sessions s JOIN users u ON u.id = s.user_id
        WHERE s.secret_hash = $1 AND ${IS_OPEN} AND u.email IS NOT NULL`,
      [secretHash],
    );
    if (found === undefined) return undefined;
    const { isStale, ...user } = found;
    if (isStale) await this.touch([user.sessionId]);
    return user;
  }

  /** Records that these sessions are in use. */
  async touch(ids: readonly string[]): Promise<void> {
    await this.sessions.query('UPDATE browser_sessions SET last_seen_at = now() WHERE id = ANY($1)', [ids]);
  }

  async deleteByHash(secretHash: string): Promise<void> {
    await this.sessions.delete({ secretHash });
  }

  async deleteOfUser(manager: EntityManager, userId: string): Promise<void> {
    await manager.delete(BrowserSessionEntity, { userId });
  }
}
