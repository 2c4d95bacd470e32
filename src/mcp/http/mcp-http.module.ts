import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../audit/audit.module.js';
import { AnswerBudgetModule } from '../../common/answers/answer-budget.module.js';
import { AgentsModule } from '../../agents/agents.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { ApiKeysModule } from '../../api-keys/api-keys.module.js';
import { ConnectionsModule } from '../../connections/connections.module.js';
import { TelemetryModule } from '../../telemetry/telemetry.module.js';
import { ToolsModule } from '../../tools/tools.module.js';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { VaultModule } from '../../vault/vault.module.js';
import { AnonymousAdmission } from './anonymous-admission.js';
import { CallsUnderWay } from './calls-under-way.js';
import { CallToolController } from './call-tool.controller.js';
import { CallerResolver } from './caller-resolver.js';
import { Deprecation } from './deprecation.js';
import { DirectController } from './direct.controller.js';
import { McpRequestHandler } from './mcp-request-handler.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import { UpstreamRouter } from '../forwarding/router.js';
import { UpstreamSender } from '../forwarding/upstream-sender.js';
import { SessionHandler } from './session-handler.js';
import { ToolCallHandler } from './tool-call-handler.js';
import { ToolCalls } from '../forwarding/tool-calls.js';
import { AgentToolRouter } from '../agent-server/offering/agent-tool-router.js';
import { GatewayController } from './gateway.controller.js';
import { AgentRequestHandler } from '../agent-server/agent-request-handler.js';
import { AgentPromptsAndResources } from '../agent-server/offering/agent-prompts-and-resources.js';
import { AgentCapabilities } from '../agent-server/offering/agent-capabilities.js';
import { AgentMcpServer } from '../agent-server/offering/agent-mcp-server.js';
import { AgentNotificationStream } from '../agent-server/offering/agent-notification-stream.js';
import { ListChanges } from '../agent-server/offering/list-changes.js';
import { ClientSessionHandler } from '../agent-server/client-upstream-sessions/client-session-handler.js';
import { SessionResources } from '../agent-server/client-upstream-sessions/session-resources.js';
import { ClientUpstreamSessionOpener } from '../agent-server/client-upstream-sessions/client-upstream-session-opener.js';
import { ClientUpstreamSessions } from '../agent-server/client-upstream-sessions/client-upstream-sessions.js';
import { ClientSessionStreams } from '../agent-server/client-upstream-sessions/client-session-streams.js';
import { RequestIdCodec } from '../agent-server/client-upstream-sessions/request-id.codec.js';
import { SessionComposition } from '../agent-server/client-upstream-sessions/session-composition.js';
import { ModernAgentRequests } from '../agent-server/modern-agent-requests.js';
import { LegacyController } from './legacy.controller.js';
import { OriginPolicy } from './origin-policy.js';
import { McpErrorResponder } from './mcp-error-responder.js';
import { McpRoutes } from './mcp-routes.js';
import { PipelineAdditions } from './pipeline-additions.js';
import { ProtectedResourceController } from './protected-resource.controller.js';
import { ProtectedResource } from './protected-resource.js';
import { SelfController } from '../self/self.controller.js';
import { SelfServer } from '../self/self-server.js';
import { RevokedSessions } from '../forwarding/session/revoked-sessions.js';
import { SealedSessions } from '../forwarding/session/sealed-sessions.js';
import { SessionOpening } from '../forwarding/session-opening.js';
import { SessionTools } from '../forwarding/session/session-tools.js';
import { TaskOwnerEntity } from '../forwarding/tasks/task-owner.entity.js';
import { TaskOwnerRepository } from '../forwarding/tasks/task-owner.repository.js';
import { TaskOwners } from '../forwarding/tasks/task-owners.js';
import { TRANSLATION_PROVIDERS } from '../translation/translation.providers.js';

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
    UpstreamRouter,
    UpstreamSender,
    ToolCalls,
    McpRequestHandler,
    McpRoutes,
    PipelineAdditions,
    McpErrorResponder,
    RequestForwarder,
    SessionHandler,
    ToolCallHandler,
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
    AgentRequestHandler,
    AgentMcpServer,
    AgentPromptsAndResources,
    AgentNotificationStream,
    ListChanges,
    ModernAgentRequests,
    AgentCapabilities,
    ClientUpstreamSessions,
    ClientUpstreamSessionOpener,
    ClientSessionHandler,
    SessionResources,
    ClientSessionStreams,
    RequestIdCodec,
    SessionComposition,
  ],
})
export class McpHttpModule {}
