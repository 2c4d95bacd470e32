import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AnswerBudgetModule } from '../common/answers/answer-budget.module.js';
import { AgentsModule } from '../agents/agents.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { ConnectionsModule } from '../connections/connections.module.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { UpstreamsModule } from '../upstreams/upstreams.module.js';
import { VaultModule } from '../vault/vault.module.js';
import { AnonymousAdmission } from './anonymous-admission.service.js';
import { CallsUnderWay } from './calls-under-way.service.js';
import { CallToolController } from './call-tool.controller.js';
import { CallerResolver } from './caller-resolver.service.js';
import { Deprecation } from './deprecation.service.js';
import { DirectController } from './direct.controller.js';
import { McpExchange } from './exchange/mcp-exchange.service.js';
import { ReplyWriter } from './exchange/reply-writer.service.js';
import { RequestExchange } from './exchange/request-exchange.service.js';
import { Router } from './exchange/router.service.js';
import { Sender } from './exchange/sender.service.js';
import { SessionExchange } from './exchange/session-exchange.service.js';
import { ToolCallEndpoint } from './exchange/tool-call-endpoint.service.js';
import { ToolCalls } from './exchange/tool-calls.service.js';
import { AgentToolRouter } from './gateway/agent-tool-router.service.js';
import { GatewayController } from './gateway/gateway.controller.js';
import { GatewayExchange } from './gateway/gateway-exchange.service.js';
import { GatewayOffers } from './gateway/gateway-offers.service.js';
import { GatewayPromising } from './gateway/gateway-promising.service.js';
import { GatewayServer } from './gateway/gateway-server.service.js';
import { GatewayStream } from './gateway/gateway-stream.service.js';
import { ListChanges } from './gateway/list-changes.service.js';
import { MemberExchange } from './gateway/member-sessions/member-exchange.service.js';
import { MemberResources } from './gateway/member-sessions/member-resources.service.js';
import { MemberSessionOpener } from './gateway/member-sessions/member-session-opener.service.js';
import { MemberSessions } from './gateway/member-sessions/member-sessions.service.js';
import { MemberStreams } from './gateway/member-sessions/member-streams.service.js';
import { ReturnAddresses } from './gateway/member-sessions/return-addresses.service.js';
import { SessionComposition } from './gateway/member-sessions/session-composition.service.js';
import { ModernGateway } from './gateway/modern-gateway.service.js';
import { LegacyController } from './legacy.controller.js';
import { OriginPolicy } from './origin-policy.js';
import { JsonRpcErrorFilter } from './jsonrpc/json-rpc-error.filter.js';
import { McpRoutes } from './mcp-routes.service.js';
import { PipelineAdditions } from './pipeline-additions.service.js';
import { ProtectedResourceController } from './protected-resource.controller.js';
import { ProtectedResource } from './protected-resource.js';
import { SelfController } from './self/self.controller.js';
import { SelfServer } from './self/self-server.service.js';
import { RevokedSessions } from './session/revoked-sessions.service.js';
import { SealedSessions } from './session/sealed-sessions.service.js';
import { SessionOpening } from './session/session-opening.service.js';
import { SessionTools } from './session/session-tools.service.js';
import { TaskOwnerEntity } from './tasks/task-owner.entity.js';
import { TaskOwnerRepository } from './tasks/task-owner.repository.js';
import { TaskOwners } from './tasks/task-owners.service.js';
import { TRANSLATION_PROVIDERS } from './translation/translation.providers.js';

/** The MCP endpoints: every connection behind one door. */
@Module({
  imports: [
    TypeOrmModule.forFeature([TaskOwnerEntity]),
    AgentsModule,
    AnswerBudgetModule,
    AuditModule,
    AuthModule,
    ApiKeysModule,
    ConnectionsModule,
    DiscoveryModule,
    TelemetryModule,
    ToolsModule,
    UpstreamsModule,
    VaultModule,
  ],
  controllers: [
    SelfController,
    GatewayController,
    DirectController,
    CallToolController,
    LegacyController,
    ProtectedResourceController,
  ],
  providers: [
    OriginPolicy,
    AnonymousAdmission,
    CallerResolver,
    CallsUnderWay,
    ProtectedResource,
    Deprecation,
    Router,
    Sender,
    ToolCalls,
    McpExchange,
    McpRoutes,
    PipelineAdditions,
    JsonRpcErrorFilter,
    RequestExchange,
    SessionExchange,
    ToolCallEndpoint,
    ReplyWriter,
    RevokedSessions,
    SealedSessions,
    SessionOpening,
    SessionTools,
    SelfServer,
    TaskOwnerRepository,
    TaskOwners,
    ...TRANSLATION_PROVIDERS,
    AgentToolRouter,
    GatewayExchange,
    GatewayServer,
    GatewayOffers,
    GatewayStream,
    ListChanges,
    ModernGateway,
    GatewayPromising,
    MemberSessions,
    MemberSessionOpener,
    MemberExchange,
    MemberResources,
    MemberStreams,
    ReturnAddresses,
    SessionComposition,
  ],
})
export class ProxyModule {}
