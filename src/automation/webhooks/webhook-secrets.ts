import { databaseNow } from '../../core/database-time.js';
import { SEALED_COLUMNS } from '../../platform/vault/sealed-columns.js';
import type { VaultService } from '../../platform/vault/vault.service.js';

/** What stored webhooks and claimed deliveries hold of the secrets of a webhook. */
export interface SealedWebhookSecrets {
  /** The id of the webhook. */
  readonly id: string;
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: Date | null;
}

/** Thrown when the vault has no key for the secret. The message is a sentence for people. */
export class UnreadableSecretError extends Error {
  override readonly name = 'UnreadableSecretError';
}

const { webhookSecret, webhookPreviousSecret } = SEALED_COLUMNS;

/**
 * The secrets that sign now, the current one first.
 * @throws UnreadableSecretError
 */
export function openWebhookSecrets(vault: VaultService, webhook: SealedWebhookSecrets): string[] {
  const { id, secret, previousSecret, previousSecretUntil } = webhook;
  try {
    const current = vault.open(secret, webhookSecret.contextOf(id));
    const isInUse =
      previousSecret !== null && previousSecretUntil !== null && previousSecretUntil.getTime() > databaseNow();
    return isInUse ? [current, vault.open(previousSecret, webhookPreviousSecret.contextOf(id))] : [current];
  } catch (error) {
    throw new UnreadableSecretError('The stored secret of the webhook cannot be decrypted. Rotate it.', {
      cause: error,
    });
  }
}

/** A new secret, sealed for storage. */
export function sealWebhookSecret(vault: VaultService, webhookId: string, secret: string): string {
  return vault.seal(secret, webhookSecret.contextOf(webhookId));
}

/**
 * The current secret of a webhook, sealed as its previous one; null if it cannot be decrypted.
 */
export function resealAsPrevious(vault: VaultService, { id, secret }: SealedWebhookSecrets): string | null {
  try {
    return vault.seal(vault.open(secret, webhookSecret.contextOf(id)), webhookPreviousSecret.contextOf(id));
  } catch {
    return null;
  }
}
