import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NamesModule } from '../core/names/names.module.js';
import { ConnectionsModule } from '../connections/connections.module.js';
import { LimitsModule } from '../platform/limits/limits.module.js';
import { LongReadsModule } from '../platform/database/long-reads.module.js';
import { PreparedStatementsModule } from '../platform/database/prepared-statements.module.js';
import { UpstreamsModule } from '../upstreams/upstreams.module.js';
import { AgentConnectionEntity } from './records/agent-connection.entity.js';
import { AgentVersionEntity } from './records/agent-version.entity.js';
import { AgentVersionsRepository } from './records/agent-versions.repository.js';
import { AgentVersionTools } from './versions/agent-version.tools.js';
import { AgentVersions } from './versions/agent-versions.js';
import { AgentEntity } from './records/agent.entity.js';
import { AgentRepository } from './records/agent.repository.js';
import { AgentTester } from './agent-tester.js';
import { AgentTools } from './agent.tools.js';
import { AgentToolset } from './agent-toolset.js';
import { OutputSchemas } from './output-schemas.js';
import { AgentsService } from './records/agents.service.js';
import { AgentComposition } from './composition/agent-composition.js';
import { AgentPartsReader } from './composition/agent-parts.js';
import { CompositionBuilder } from './composition/composition-builder.js';
import { MemberLists } from './composition/member-lists.js';
import { DressingCheck } from './dressing-check.js';
import { ToolDresser } from './dressing/tool-dresser.js';
import { OfferLists } from './composition/offer-lists.js';
import { ToolSearch } from './search/tool-search.js';
import { ConnectionTestTools } from './connection-test.tools.js';

/** Agents (virtual MCPs): their composition and their tools. */
@Module({
  imports: [
    TypeOrmModule.forFeature([AgentEntity, AgentConnectionEntity, AgentVersionEntity]),
    LongReadsModule,
    PreparedStatementsModule,
    ConnectionsModule,
    NamesModule,
    LimitsModule,
    UpstreamsModule,
  ],
  providers: [
    AgentsService,
    AgentRepository,
    AgentVersionsRepository,
    AgentVersions,
    AgentVersionTools,
    AgentTools,
    AgentToolset,
    AgentTester,
    OutputSchemas,
    ConnectionTestTools,
    AgentComposition,
    AgentPartsReader,
    CompositionBuilder,
    ToolDresser,
    DressingCheck,
    MemberLists,
    OfferLists,
    ToolSearch,
  ],
  exports: [AgentsService, OutputSchemas, AgentToolset, AgentComposition, OfferLists, ToolSearch],
})
export class AgentsModule {}
