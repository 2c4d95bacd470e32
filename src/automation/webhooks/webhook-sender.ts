import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Dispatcher, request } from 'undici';
import { databaseNow } from '../../core/database-time.js';
import { AddressPolicy, AddressRefusedError } from '../../platform/net/address-policy.js';
import { GuardedDispatcher } from '../../platform/net/guarded-dispatcher.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { webhookHeaders } from './webhook-signature.js';
import { openWebhookSecrets, type SealedWebhookSecrets, UnreadableSecretError } from './webhook-secrets.js';

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
