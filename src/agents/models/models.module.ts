import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditEventsModule } from '../../audit/events/audit-events.module.js';
import { PreparedStatementsModule } from '../../platform/database/prepared-statements.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { NetModule } from '../../platform/net/net.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { AiProviderEntity } from './ai-provider.entity.js';
import { AiProviderRepository } from './ai-provider.repository.js';
import { AiProviderService } from './ai-provider.service.js';
import { AiProviderTools } from './ai-provider.tools.js';
import { AnthropicModels } from './kinds/anthropic.js';
import { AzureModels } from './kinds/azure.js';
import { BedrockModels } from './kinds/bedrock.js';
import { GoogleModels } from './kinds/google.js';
import { MistralModels } from './kinds/mistral.js';
import { OpenAiCompatibleModels } from './kinds/openai-compatible.js';
import { OpenAiModels } from './kinds/openai.js';
import { ModelHealth } from './model-health.js';
import { ModelKinds } from './model-kind.js';
import { ModelTierEntity } from './model-tier.entity.js';
import { ModelTiersRepository } from './model-tiers.repository.js';
import { ModelTiersService } from './model-tiers.service.js';
import { ModelTiersTools } from './model-tiers.tools.js';
import { ModelsService } from './models.service.js';
import { ProviderModelList } from './provider-model-list.js';
import { ProviderModels } from './provider-models.js';
import { ProviderTester } from './provider-tester.js';

/** AI providers, tiers, and the models of runs. */
@Module({
  imports: [
    TypeOrmModule.forFeature([AiProviderEntity, ModelTierEntity]),
    PreparedStatementsModule,
    AuditEventsModule,
    LimitsModule,
    NetModule,
    VaultModule,
    DiscoveryModule,
  ],
  providers: [
    OpenAiCompatibleModels,
    OpenAiModels,
    AnthropicModels,
    GoogleModels,
    AzureModels,
    BedrockModels,
    MistralModels,
    ModelKinds,
    AiProviderService,
    AiProviderRepository,
    AiProviderTools,
    ModelTiersService,
    ModelTiersRepository,
    ModelTiersTools,
    ModelsService,
    ModelHealth,
    ProviderModels,
    ProviderTester,
    ProviderModelList,
  ],
  exports: [ModelsService, ModelHealth],
})
export class ModelsModule {}
