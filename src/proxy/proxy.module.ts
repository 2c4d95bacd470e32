import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { ConnectionsModule } from '../connections/connections.module.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { ToolsModule } from '../tools/tools.module.js';
import { UpstreamsModule } from '../upstreams/upstreams.module.js';
import { VaultModule } from '../vault/vault.module.js';
import { CallToolController } from './call-tool.controller.js';
import { CallerResolver } from './caller-resolver.service.js';
import { Deprecation } from './deprecation.service.js';
import { DirectController } from './direct.controller.js';
import { McpExchange } from './exchange/mcp-exchange.service.js';
import { ReplyWriter } from './exchange/reply-writer.service.js';
import { Router } from './exchange/router.service.js';
import { Sender } from './exchange/sender.service.js';
import { SessionExchange } from './exchange/session-exchange.service.js';
import { ToolCallEndpoint } from './exchange/tool-call-endpoint.service.js';
import { ToolCalls } from './exchange/tool-calls.service.js';
import { LegacyController } from './legacy.controller.js';
import { OriginPolicy } from './origin-policy.js';
import { ProtectedResourceController } from './protected-resource.controller.js';
import { ProtectedResource } from './protected-resource.js';
import { SelfController } from './self/self.controller.js';
import { SelfServer } from './self/self-server.service.js';
import { SealedSessions } from './session/sealed-sessions.service.js';
import { SessionOpening } from './session/session-opening.service.js';
import { SessionTools } from './session/session-tools.service.js';

/** The MCP endpoints: every connection behind one door. */
@Module({
  imports: [AuditModule, ApiKeysModule, ConnectionsModule, TelemetryModule, ToolsModule, UpstreamsModule, VaultModule],
  controllers: [SelfController, DirectController, CallToolController, LegacyController, ProtectedResourceController],
  providers: [
    OriginPolicy,
    CallerResolver,
    ProtectedResource,
    Deprecation,
    Router,
    Sender,
    ToolCalls,
    McpExchange,
    SessionExchange,
    ToolCallEndpoint,
    ReplyWriter,
    SealedSessions,
    SessionOpening,
    SessionTools,
    SelfServer,
  ],
})
export class ProxyModule {}
