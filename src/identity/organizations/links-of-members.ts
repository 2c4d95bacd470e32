import type { EntityManager } from 'typeorm';
import { ADMIN, OWNER } from './member-rights.js';

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
