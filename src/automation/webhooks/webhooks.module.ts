import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentsModule } from '../../agents/agents.module.js';
import { LongReadsModule } from '../../platform/database/long-reads.module.js';
import { PreparedStatementsModule } from '../../platform/database/prepared-statements.module.js';
import { NetModule } from '../../platform/net/net.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { DeliveryRepository } from './delivery.repository.js';
import { WebhookDeliveryEntity } from './webhook-delivery.entity.js';
import { WebhookDeliveryService } from './webhook-delivery.service.js';
import { WebhookEntity } from './webhook.entity.js';
import { WebhookRepository } from './webhook.repository.js';
import { WebhookSender } from './webhook-sender.js';
import { WebhookService } from './webhook.service.js';
import { WebhookTools } from './webhook.tools.js';

/** Webhooks and their management tools. */
@Module({
  imports: [
    TypeOrmModule.forFeature([WebhookEntity, WebhookDeliveryEntity]),
    PreparedStatementsModule,
    LongReadsModule,
    AgentsModule,
    NetModule,
    VaultModule,
  ],
  providers: [
    WebhookRepository,
    WebhookSender,
    WebhookService,
    WebhookDeliveryService,
    WebhookTools,
    DeliveryRepository,
  ],
  exports: [WebhookRepository, WebhookSender, DeliveryRepository],
})
export class WebhooksModule {}
