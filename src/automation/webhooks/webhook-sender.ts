import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Dispatcher, request } from 'undici';
import { databaseNow } from '../../core/database-time.js';
import { AddressPolicy, AddressRefusedError } from '../../platform/net/address-policy.js';
import { GuardedDispatcher } from '../../platform/net/guarded-dispatcher.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { createHmac, randomBytes } from 'node:crypto';
import { SEALED_COLUMNS } from '../../platform/vault/sealed-columns.js';

/** What stored webhooks and claimed deliveries hold of the secrets of a webhook. */
interface SealedWebhookSecrets {
  /** The id of the webhook. */
  readonly id: string;
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: Date | null;
}

/** Thrown when the vault has no key for the secret. The message is a sentence for people. */
class UnreadableSecretError extends Error {
  override readonly name = 'UnreadableSecretError';
}

const { webhookSecret, webhookPreviousSecret } = SEALED_COLUMNS;

/**
 * The secrets that sign now, the current one first.
 * @throws UnreadableSecretError
 */
function openWebhookSecrets(vault: VaultService, webhook: SealedWebhookSecrets): string[] {
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

/** Time limit of a try, in milliseconds, from the name resolution to the end of the answer. */
export const TRY_TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const SOCKETS_PER_ORIGIN = 512;

/** What is sent, and where. */
interface WebhookMessage {
  /** The `webhook-id`. */
  readonly id: string;
  readonly url: string;
  readonly body: string;
  readonly webhook: SealedWebhookSecrets;
}

/** The result of one try. */
export interface WebhookTry {
  readonly ok: boolean;
  /** The HTTP status of the answer; null without one. */
  readonly status: number | null;
  /** Why it failed, in a sentence without addresses or secrets; absent if it succeeded. */
  readonly error?: string;
}

/** Sends webhook messages. Every address passes the address check when it is dialed; redirects are not followed. */
@Injectable()
export class WebhookSender implements OnApplicationShutdown {
  private readonly dispatcher: GuardedDispatcher;

  constructor(
    private readonly policy: AddressPolicy,
    private readonly vault: VaultService,
  ) {
    this.dispatcher = new GuardedDispatcher(policy, {
      connections: SOCKETS_PER_ORIGIN,
      connectTimeoutMs: TRY_TIMEOUT_MS,
    });
  }

  /**
   * Makes one try. Reports every fault of the receiver in its result.
   * @throws the reason of the signal if that aborts the try
   */
  async send(message: WebhookMessage, signal: AbortSignal): Promise<WebhookTry> {
    const limit = AbortSignal.timeout(TRY_TIMEOUT_MS);
    let status: number | null = null;
    let url: URL;
    try {
      url = this.policy.checkUrl(message.url);
    } catch (error) {
      return { ok: false, status, error: (error as Error).message };
    }
    try {
      const secrets = openWebhookSecrets(this.vault, message.webhook);
      const answer = await request(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'signalbox',
          ...webhookHeaders({ ...message, secrets }, databaseNow()),
        },
        body: message.body,
        signal: AbortSignal.any([signal, limit]),
        dispatcher: this.dispatcher,
      });
      status = answer.statusCode;
      await readAway(answer.body);
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, status, error: limit.aborted ? TOO_SLOW : sentenceOf(error) };
    }
    if (status >= 200 && status < 300) return { ok: true, status };
    const isRedirect = status >= 300 && status < 400;
    const error = `The receiver answered with ${status}${isRedirect ? ', a redirect, which is not followed' : ''}.`;
    return { ok: false, status, error };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.dispatcher.destroy();
  }
}

const NO_ADDRESS = 'The name of the receiver has no public address.';
const UNKNOWN_NAME: readonly unknown[] = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA'];
const TOO_SLOW = `The receiver did not answer completely within ${TRY_TIMEOUT_MS / 1000} seconds.`;

/** Thrown for an answer that is not read to its end. */
class LargeAnswerError extends Error {}

async function readAway(body: Dispatcher.ResponseData['body']): Promise<void> {
  let size = 0;
  // Leaving the loop destroys the body and with it the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new LargeAnswerError();
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof LargeAnswerError) return `The receiver answered with more than ${MAX_ANSWER_BYTES} bytes.`;
  if (error instanceof UnreadableSecretError) return error.message;
  const { code } = error as { code?: unknown };
  // The difference would tell the names of the network in which the service runs.
  if (error instanceof AddressRefusedError || UNKNOWN_NAME.includes(code)) return NO_ADDRESS;
  const shown = typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? ` (${code})` : '';
  return `The receiver cannot be reached${shown}.`;
}

const SECRET_PREFIX = 'whsec_';
const KEY_BYTES = 32;

/** A new secret: `whsec_` and 32 random bytes in base64 (Standard Webhooks, "Signature scheme"). */
export function newWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(KEY_BYTES).toString('base64');
}

/**
 * The headers of one try (Standard Webhooks, "Webhook headers"). The signature is over id, timestamp and body, once for
 * each secret.
 * @param secrets the current one first
 * @param at the time of the try, in milliseconds
 */
export function webhookHeaders(
  { id, body, secrets }: { id: string; body: string; secrets: readonly string[] },
  at: number,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(at / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
