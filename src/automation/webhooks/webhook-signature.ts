import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const KEY_BYTES = 32;

/** A new secret: `whsec_` and 32 random bytes in base64 (Standard Webhooks, "Signature scheme"). */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(KEY_BYTES).toString('base64');
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
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
