import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { AgentsModule } from '../../agents/agents.module.js';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { AuthModule } from '../../identity/auth/auth.module.js';
import { ConnectionsModule } from '../../connections/connections.module.js';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { AgentServerModule } from '../agent-server/agent-server.module.js';
import { ForwardingModule } from '../forwarding/forwarding.module.js';
import { TranslationModule } from '../translation/translation.module.js';
import { AnonymousAdmission } from './anonymous-admission.js';
import { CallerResolver } from './caller-resolver.js';
import { ActiveCalls } from './active-calls.js';
import { Deprecation } from './deprecation.js';
import { DirectController } from './direct.controller.js';
import { GatewayController } from './gateway.controller.js';
import { LegacyController } from './legacy.controller.js';
import { McpErrorResponder } from './mcp-error-responder.js';
import { McpRequestHandler } from './mcp-request-handler.js';
import { McpRoutes } from './mcp-routes.js';
import { OriginPolicy } from './origin-policy.js';
import { PipelineAdditions } from './pipeline-additions.js';
import { SessionHandler } from './session-handler.js';
import { ToolCallHandler } from './tool-call-handler.js';

/** The MCP endpoints of connections and agents: routes, origin and header rules, errors as JSON-RPC. */
@Module({
  imports: [
    AgentServerModule,
    AgentsModule,
    CredentialsModule,
    AuthModule,
    ConnectionsModule,
    DiscoveryModule,
    ForwardingModule,
    TranslationModule,
    UpstreamsModule,
  ],
  controllers: [GatewayController, DirectController, LegacyController],
  providers: [
    AnonymousAdmission,
    CallerResolver,
    ActiveCalls,
    Deprecation,
    McpErrorResponder,
    McpRequestHandler,
    McpRoutes,
    OriginPolicy,
    PipelineAdditions,
    SessionHandler,
    ToolCallHandler,
  ],
  exports: [OriginPolicy],
})
export class McpHttpModule {}
