import { Module } from '@nestjs/common';
import { AgentsModule } from '../../agents/agents.module.js';
import { ToolsModule } from '../../api/tools/tools.module.js';
import { AuditModule } from '../../audit/calls/audit.module.js';
import { ConnectionsModule } from '../../connections/connections.module.js';
import { ApiKeysModule } from '../../identity/api-keys/api-keys.module.js';
import { OrganizationsModule } from '../../identity/organizations/organizations.module.js';
import { RunsModule } from '../../runtime/runs/runs.module.js';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { AccessCallers } from './access-callers.js';
import { AccessGraphs } from './access-graph.js';
import { AccessOfCallers } from './access-of-caller.js';
import { AccessToTools } from './access-to-tools.js';
import { AccessManagementTools } from './access.tools.js';
import { ToolOffers } from './tool-offers.js';

/** Answers who can call what, by the rules that the proxy itself applies. */
@Module({
  imports: [
    AgentsModule,
    ApiKeysModule,
    AuditModule,
    ConnectionsModule,
    OrganizationsModule,
    RunsModule,
    ToolsModule,
    UpstreamsModule,
  ],
  providers: [AccessCallers, AccessGraphs, AccessManagementTools, AccessOfCallers, AccessToTools, ToolOffers],
})
export class AccessModule {}
