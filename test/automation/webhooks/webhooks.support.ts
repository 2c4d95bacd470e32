import { expect } from '@jest/globals';
import type { WebhookDeliveryItem, WebhookItem } from '../../../src/automation/webhooks/webhook.dto.js';
import { succeed } from '../../support/agent-runs.js';
import type { Tenant } from '../../support/tenant.js';
import { eventually } from '../../support/eventually.js';

export interface CreatedWebhook {
  readonly item: WebhookItem;
  readonly secret: string;
}

/** Creates a webhook for all ends of runs. */
export function createWebhook(app: Tenant, url: string, data: object = {}): Promise<CreatedWebhook> {
  const events = ['run.completed', 'run.failed', 'run.cancelled'];
  return succeed<CreatedWebhook>(app, 'WEBHOOK_CREATE', { data: { url, events, ...data } });
}

export async function deleteWebhook(app: Tenant, { item }: CreatedWebhook): Promise<void> {
  await succeed(app, 'WEBHOOK_DELETE', { id: item.id });
}

/** The deliveries of a run, the oldest first. */
export async function deliveriesOf(app: Tenant, runId: string): Promise<WebhookDeliveryItem[]> {
  const where = { field: ['run_id'], operator: 'eq', value: runId };
  const orderBy = [{ field: ['created_at'], direction: 'asc' }];
  return (await succeed<{ items: WebhookDeliveryItem[] }>(app, 'WEBHOOK_DELIVERIES_LIST', { where, orderBy })).items;
}

/** The only delivery of a run, once it looks like this. */
export function deliveryOf(
  app: Tenant,
  runId: string,
  expected: Partial<WebhookDeliveryItem>,
): Promise<WebhookDeliveryItem> {
  return eventually(async () => {
    const deliveries = await deliveriesOf(app, runId);
    if (deliveries.length > 1) throw new Error(`The run has ${deliveries.length} deliveries.`);
    expect(deliveries).toMatchObject([expected]);
    return deliveries[0] as WebhookDeliveryItem;
  });
}

/** Lets the next try of a delivery, or the end of its claim, be now. */
export async function makeDue(app: Tenant, deliveryId: string): Promise<void> {
  await app.query(`UPDATE webhook_deliveries SET next_try_at = now() WHERE id = $1 AND status = 'pending'`, [
    deliveryId,
  ]);
}
