import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConnectionsModule } from '../connections/connections.module.js';
import { LimitsModule } from '../platform/limits/limits.module.js';
import { PreparedStatementsModule } from '../platform/database/prepared-statements.module.js';
import { UpstreamsModule } from '../upstreams/upstreams.module.js';
import { AgentConnectionEntity } from './records/agent-connection.entity.js';
import { AgentEntity } from './records/agent.entity.js';
import { AgentRepository } from './records/agent.repository.js';
import { AgentTester } from './agent-tester.js';
import { AgentTools } from './agent.tools.js';
import { AgentToolset } from './agent-toolset.js';
import { AgentsService } from './records/agents.service.js';
import { AgentComposition } from './composition/agent-composition.js';
import { AgentPartsReader } from './composition/agent-parts.js';
import { CompositionBuilder } from './composition/composition-builder.js';
import { MemberLists } from './composition/member-lists.js';
import { OfferLists } from './composition/offer-lists.js';
import { ConnectionTestTools } from './connection-test.tools.js';

/** Agents (virtual MCPs): their composition and their tools. */
@Module({
  imports: [
    TypeOrmModule.forFeature([AgentEntity, AgentConnectionEntity]),
    PreparedStatementsModule,
    ConnectionsModule,
    LimitsModule,
    UpstreamsModule,
  ],
  providers: [
    AgentsService,
    AgentRepository,
    AgentTools,
    AgentToolset,
    AgentTester,
    ConnectionTestTools,
    AgentComposition,
    AgentPartsReader,
    CompositionBuilder,
    MemberLists,
    OfferLists,
  ],
  exports: [AgentsService, AgentToolset, AgentComposition, OfferLists],
})
export class AgentsModule {}
