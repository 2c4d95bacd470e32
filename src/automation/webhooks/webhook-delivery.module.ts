import { Module } from '@nestjs/common';
import { WebhookDeliverer } from './webhook-deliverer.js';
import { WebhooksModule } from './webhooks.module.js';

/** Delivers webhooks. */
@Module({ imports: [WebhooksModule], providers: [WebhookDeliverer] })
export class WebhookDeliveryModule {}
