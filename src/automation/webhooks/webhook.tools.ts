import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { WebhookDeliveryService } from './webhook-delivery.service.js';
import {
  WebhookCreateInput,
  WebhookDeliveryOutput,
  WebhookDeliveryPage,
  WebhookIdInput,
  WebhookOutput,
  WebhookPage,
  WebhookTested,
  WebhookUpdateInput,
  WebhookWithSecret,
} from './webhook.dto.js';
import { WebhookService } from './webhook.service.js';

@Injectable()
export class WebhookTools {
  constructor(
    private readonly webhooks: WebhookService,
    private readonly deliveries: WebhookDeliveryService,
  ) {}

  @ManagementTool({
    name: 'WEBHOOK_CREATE',
    description:
      'Adds a webhook: an address that is told when runs end or ask for an approval, or when tools change. Only this ' +
      'response and that of WEBHOOK_ROTATE contain the secret that signs the messages (Standard Webhooks).',
    input: WebhookCreateInput,
    output: WebhookWithSecret,
    annotations: CREATES,
  })
  create(input: WebhookCreateInput, caller: Principal): Promise<WebhookWithSecret> {
    return this.webhooks.create(input.data, caller);
  }

  @ManagementTool({
    name: 'WEBHOOK_LIST',
    description: "Lists the organization's webhooks without their secrets.",
    input: ListInput,
    output: WebhookPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<WebhookPage> {
    return this.webhooks.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'WEBHOOK_UPDATE',
    description:
      'Changes a webhook. Absent properties keep their value. Pending deliveries go to a new address; disabling ' +
      'drops them.',
    input: WebhookUpdateInput,
    output: WebhookOutput,
    annotations: UPDATES,
  })
  async update(input: WebhookUpdateInput, caller: Principal): Promise<WebhookOutput> {
    return { item: await this.webhooks.update(input.id, input.data, caller) };
  }

  @ManagementTool({
    name: 'WEBHOOK_DELETE',
    description: 'Deletes a webhook with its deliveries.',
    input: WebhookIdInput,
    output: WebhookOutput,
    annotations: DESTROYS,
  })
  async delete(input: WebhookIdInput, caller: Principal): Promise<WebhookOutput> {
    return { item: await this.webhooks.delete(input.id, caller) };
  }

  @ManagementTool({
    name: 'WEBHOOK_ROTATE',
    description: 'Replaces the secret of a webhook. For 24 hours, messages have the signatures of both secrets.',
    input: WebhookIdInput,
    output: WebhookWithSecret,
    annotations: CREATES,
  })
  rotate(input: WebhookIdInput, caller: Principal): Promise<WebhookWithSecret> {
    return this.webhooks.rotate(input.id, caller);
  }

  @ManagementTool({
    name: 'WEBHOOK_TEST',
    description: 'Sends the event webhook.test to a webhook, within 15 seconds, and reports the cause of a failure.',
    input: WebhookIdInput,
    output: WebhookTested,
    annotations: READ_ONLY,
  })
  test(input: WebhookIdInput, caller: Principal): Promise<WebhookTested> {
    return this.webhooks.test(input.id, caller);
  }

  @ManagementTool({
    name: 'WEBHOOK_DELIVERIES_LIST',
    description: 'Lists the deliveries of the last 30 days to webhooks, newest first by default.',
    input: ListInput,
    output: WebhookDeliveryPage,
    annotations: READ_ONLY,
  })
  listDeliveries(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<WebhookDeliveryPage> {
    return this.deliveries.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'WEBHOOK_REDELIVER',
    description: 'Sends a delivery again, with the same id and body.',
    input: WebhookIdInput,
    output: WebhookDeliveryOutput,
    annotations: CREATES,
  })
  async redeliver(input: WebhookIdInput, caller: Principal): Promise<WebhookDeliveryOutput> {
    return { item: await this.deliveries.redeliver(input.id, caller) };
  }
}
