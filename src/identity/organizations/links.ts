import { Column, type EntityManager, ForeignKey } from 'typeorm';
import { hash, randomBytes } from 'node:crypto';
import type { Principal } from '../../core/principal.js';
import { ADMIN, OWNER } from './member-rights.js';

/** Who made an invitation or a link that sets a password, and with what. The link ends as soon as one of them does. */
export abstract class LinkMaker {
  /** The member, with whose membership it ends; null for a key of the organization and for the operator. */
  @Column({ type: 'uuid', name: 'made_by', nullable: true, update: false })
  madeBy: string | null;

  /** The API key; null if a person without one, or the operator, made it. */
  @Column({ type: 'uuid', name: 'maker_key_id', nullable: true, update: false })
  @ForeignKey('api_keys', { onDelete: 'CASCADE' })
  makerKeyId: string | null;

  /** The OAuth grant of the token or of the key. */
  @Column({ type: 'uuid', name: 'grant_id', nullable: true, update: false })
  @ForeignKey('oauth_grants', { onDelete: 'CASCADE' })
  grantId: string | null;
}

export const OPERATOR: LinkMaker = { madeBy: null, makerKeyId: null, grantId: null };

/**
 * The caller as the maker of a link, and when the link expires: when asked, or with the key if that is earlier.
 * @param manager of `OrganizationLock.withAuthority`, which has locked the key and the grant
 */
export async function linkMadeBy(
  manager: EntityManager,
  { userId, apiKeyId, grantId }: Principal,
  asked: Date,
): Promise<LinkMaker & { expiresAt: Date }> {
  const [key]: { end: Date | null }[] = await manager.query('SELECT expires_at AS "end" FROM api_keys WHERE id = $1', [
    apiKeyId,
  ]);
  const expiresAt = new Date(Math.min(asked.getTime(), key?.end?.getTime() ?? Infinity));
  return { madeBy: userId, makerKeyId: apiKeyId, grantId, expiresAt };
}

const TOKEN = /^[\w-]{43}$/;

/** A new token for a link, and the hash under which it is stored. */
export function newLinkToken(): { readonly token: string; readonly tokenHash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, tokenHash: hash('sha256', token) };
}

/** The hash of a token from a link; undefined for text of another form. */
export function hashOfLinkToken(token: string): string | undefined {
  return TOKEN.test(token) ? hash('sha256', token) : undefined;
}

const MADE_BY = `
  members WHERE links.organization_id = $1 AND members.organization_id = $1 AND members.user_id = links.made_by
   AND CASE WHEN $2::uuid IS NOT NULL THEN members.user_id = $2
            WHEN $3::text IS NOT NULL THEN members.role = $3
            ELSE members.role NOT IN ('${OWNER}', '${ADMIN}') END`;

const TABLES = ['invitations', 'password_links'];

/**
 * Ends the invitations and reset links that members have made whose permissions become fewer: they could no longer make
 * them, and still have their addresses.
 * @param of one person, or all with one role; without either, all whose permissions can become fewer
 */
export async function endLinksOfMembers(
  manager: EntityManager,
  organizationId: string,
  of: { readonly userId?: string; readonly role?: string } = {},
): Promise<void> {
  for (const table of TABLES) {
    const statement = `DELETE FROM ${table} links USING ${MADE_BY}`;
    await manager.query(statement, [organizationId, of.userId ?? null, of.role ?? null]);
  }
}

/** Ends the invitations and reset links that a person has made, in all organizations. */
export async function endLinksOfPerson(manager: EntityManager, userId: string): Promise<void> {
  for (const table of TABLES) await manager.query(`DELETE FROM ${table} WHERE made_by = $1`, [userId]);
}

/** Ends the invitations and reset links that a key has made, whose permissions become fewer. */
export async function endLinksOfKey(manager: EntityManager, keyId: string): Promise<void> {
  for (const table of TABLES) await manager.query(`DELETE FROM ${table} WHERE maker_key_id = $1`, [keyId]);
}

/** Lets the invitations and reset links of a key expire no later than the key, whose expiry was brought forward. */
export async function shortenLinksOfKey(manager: EntityManager, keyId: string, expiresAt: Date): Promise<void> {
  for (const table of TABLES) {
    const statement = `UPDATE ${table} SET expires_at = $2 WHERE maker_key_id = $1 AND expires_at > $2`;
    await manager.query(statement, [keyId, expiresAt]);
  }
}
