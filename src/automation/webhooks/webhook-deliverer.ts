import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { type ClaimedDelivery, DeliveryRepository } from './delivery.repository.js';
import { WebhookSender, type WebhookTry } from './webhook-sender.js';
import { WebhookRepository } from './webhook.repository.js';

const POLL_MS = 500;
/** The least time between claims that fill the places of finished tries. */
const REFILL_MS = 50;
/** Tries at the same time in this process. */
const MAX_TRIES = 2048;
/** Tries of one webhook, so that a slow receiver delays no other. Above half of all tries, each webhook has one. */
const MAX_TRIES_OF_WEBHOOK = 8;
const GONE = 410;

/** Delivers what is due. Every worker delivers, and each delivery is claimed by one of them. */
@Injectable()
export class WebhookDeliverer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(WebhookDeliverer.name);
  private readonly stopping = new AbortController();
  private readonly tries = new Set<Promise<void>>();
  private readonly triesOfWebhook = new Map<string, number>();
  private claiming: Promise<void> | undefined;
  private isBehind = false;
  private refill: NodeJS.Timeout | undefined;
  private refilledAt = -REFILL_MS;
  private readonly polls = new PeriodicTask(() => this.deliverDue(), {
    pauseMs: POLL_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot search for due webhook deliveries'),
  });

  constructor(
    private readonly deliveries: DeliveryRepository,
    private readonly webhooks: WebhookRepository,
    private readonly sender: WebhookSender,
  ) {}

  onApplicationBootstrap(): void {
    this.polls.start();
  }

  /** Aborts the tries. Their deliveries are due for other processes at once. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.refill);
    await this.polls.stop();
    await this.claiming?.catch(() => undefined);
    await Promise.all(this.tries);
  }

  /** Starts tries of what is due, without waiting for them. A call during another one makes that claim once more. */
  private deliverDue(): Promise<void> {
    this.isBehind = true;
    this.claiming ??= this.claimAll().finally(() => (this.claiming = undefined));
    return this.claiming;
  }

  private async claimAll(): Promise<void> {
    while (this.isBehind && !this.stopping.signal.aborted && this.tries.size < MAX_TRIES) {
      this.isBehind = false;
      const perWebhook = this.tries.size < MAX_TRIES / 2 ? MAX_TRIES_OF_WEBHOOK : 1;
      const claimed = await this.deliveries.claim(this.triesOfWebhook, perWebhook, MAX_TRIES - this.tries.size);
      for (const delivery of claimed) this.begin(delivery);
    }
  }

  private begin(delivery: ClaimedDelivery): void {
    const { webhookId } = delivery;
    this.triesOfWebhook.set(webhookId, (this.triesOfWebhook.get(webhookId) ?? 0) + 1);
    const trying = this.deliver(delivery).finally(() => {
      const others = (this.triesOfWebhook.get(webhookId) ?? 1) - 1;
      if (others === 0) this.triesOfWebhook.delete(webhookId);
      else this.triesOfWebhook.set(webhookId, others);
      this.tries.delete(trying);
      this.refillSoon();
    });
    this.tries.add(trying);
  }

  /** Fills the places of finished tries: at once, or together with those that finish soon. */
  private refillSoon(): void {
    if (this.stopping.signal.aborted || this.refill !== undefined) return;
    const refill = (): void => {
      this.refill = undefined;
      this.refilledAt = performance.now();
      // A poll repeats what fails here.
      this.deliverDue().catch(() => undefined);
    };
    this.refill = setTimeout(refill, Math.max(0, this.refilledAt + REFILL_MS - performance.now())).unref();
  }

  /** Never rejects: without a record, the delivery is due again when its claim ends. */
  private async deliver(delivery: ClaimedDelivery): Promise<void> {
    try {
      await this.record(delivery, await this.send(delivery));
    } catch (error) {
      this.logger.warn({ delivery_id: delivery.id, err: error as Error }, 'Could not record a webhook delivery');
    }
  }

  /** Returns undefined if the service is stopping. */
  private async send(delivery: ClaimedDelivery): Promise<WebhookTry | undefined> {
    const { id, url, body, webhookId, secret, previousSecret, previousSecretUntil } = delivery;
    const webhook = { id: webhookId, secret, previousSecret, previousSecretUntil };
    try {
      return await this.sender.send({ id, url, body, webhook }, this.stopping.signal);
    } catch (error) {
      if (this.stopping.signal.aborted) return undefined;
      throw error;
    }
  }

  private async record(delivery: ClaimedDelivery, result: WebhookTry | undefined): Promise<void> {
    if (result === undefined) return this.deliveries.release(delivery);
    if (result.ok) return this.deliveries.recordDelivered(delivery, result);
    const isGone = result.status === GONE;
    await this.deliveries.recordFailed(delivery, result, isGone ? undefined : retryDelay(delivery.attempts + 1));
    if (!isGone) return;
    // An address that was changed meanwhile has not answered.
    await this.webhooks.update(delivery.organizationId, delivery.webhookId, ({ url }) =>
      url === delivery.url ? { enabled: false, disabledReason: 'The receiver answered with 410 (Gone).' } : {},
    );
  }
}

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** The pause after each failed try. The try after the last pause is the last one. */
const PAUSES_MS = [5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];
/** Spreads the tries of deliveries that failed together. */
const SPREAD = 0.1;

/**
 * The pause before the next try, in milliseconds; undefined after the last try.
 * @param tries the number of failed tries, at least 1
 * @param random in [0, 1)
 */
export function retryDelay(tries: number, random = Math.random()): number | undefined {
  const pause = PAUSES_MS[tries - 1];
  return pause === undefined ? undefined : Math.round(pause * (1 - SPREAD + 2 * SPREAD * random));
}
