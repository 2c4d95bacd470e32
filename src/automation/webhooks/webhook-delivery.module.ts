import { Module } from '@nestjs/common';
import { DeliverySweeper } from './delivery-sweeper.js';
import { WebhookDeliverer } from './webhook-deliverer.js';
import { WebhooksModule } from './webhooks.module.js';

/** Delivers webhooks. */
@Module({ imports: [WebhooksModule], providers: [WebhookDeliverer, DeliverySweeper] })
export class WebhookDeliveryModule {}
