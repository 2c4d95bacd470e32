import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { CredentialsModule } from '../identity/credentials/credentials.module.js';
import { AuthModule } from '../identity/auth/auth.module.js';
import { ConnectionsModule } from '../connections/connections.module.js';
import { UpstreamsModule } from '../upstreams/upstreams.module.js';
import { AgentServerModule } from './agent-server/agent-server.module.js';
import { ForwardingModule } from './forwarding/forwarding.module.js';
import { TranslationModule } from './translation/translation.module.js';
import { CallerResolver } from './http/caller-resolver.js';
import { OriginPolicy } from './http/origin-policy.js';
import { Deprecation, DeprecatedPathsController } from './http/deprecated-paths.controller.js';
import { DirectController, GatewayController } from './http/mcp.controller.js';
import { McpErrorResponder } from './http/mcp-error-responder.js';
import { McpRequestHandler, McpSessionHandler } from './http/mcp-request-handler.js';
import { McpRoutes } from './http/mcp-routes.js';
import { ToolCallHandler } from './http/tool-call-handler.js';

/** The MCP endpoints of connections and agents: routes, origin and header rules, errors as JSON-RPC. */
@Module({
  imports: [
    AgentServerModule,
    AgentsModule,
    CredentialsModule,
    AuthModule,
    ConnectionsModule,
    ForwardingModule,
    TranslationModule,
    UpstreamsModule,
  ],
  controllers: [GatewayController, DirectController, DeprecatedPathsController],
  providers: [
    CallerResolver,
    Deprecation,
    McpErrorResponder,
    McpRequestHandler,
    McpRoutes,
    OriginPolicy,
    McpSessionHandler,
    ToolCallHandler,
  ],
  exports: [OriginPolicy],
})
export class ProxyModule {}
