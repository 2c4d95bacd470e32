import { Column, type EntityManager, ForeignKey } from 'typeorm';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';

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
 * The caller as the maker of a link, and when the link expires: when asked, or with the key if that is earlier. Until
 * the transaction ends, the key and the grant can neither end nor change. Locks the grant first, as revoking it does.
 * @throws DomainError `credential_invalid`
 */
export async function lockMaker(
  manager: EntityManager,
  { userId, apiKeyId, grantId }: Principal,
  asked: Date,
): Promise<LinkMaker & { expiresAt: Date }> {
  await lockRow(manager, 'SELECT FROM oauth_grants WHERE id = $1 FOR SHARE', grantId);
  const key = await lockRow(manager, 'SELECT expires_at AS "end" FROM api_keys WHERE id = $1 FOR SHARE', apiKeyId);
  const expiresAt = new Date(Math.min(asked.getTime(), key?.end?.getTime() ?? Infinity));
  return { madeBy: userId, makerKeyId: apiKeyId, grantId, expiresAt };
}

async function lockRow(
  manager: EntityManager,
  statement: string,
  id: string | null,
): Promise<{ readonly end?: Date | null } | undefined> {
  if (id === null) return undefined;
  const [row] = await manager.query(statement, [id]);
  if (row === undefined) throw new DomainError('credential_invalid', 'The credential has been revoked.');
  return row;
}
