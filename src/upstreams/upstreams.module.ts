import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/calls/audit.module.js';
import { AnswerRooms } from '../core/answers/answer-room.js';
import { AppConfig } from '../core/config/app-config.js';
import { ConnectionDirectory } from '../connections/connection-directory.js';
import { ConnectionsModule } from '../connections/connections.module.js';
import { CredentialsModule } from '../identity/credentials/credentials.module.js';
import { OpenCredentials } from '../identity/credentials/open-credentials.js';
import { AddressPolicy } from '../platform/net/address-policy.js';
import { GuardedDispatcher } from '../platform/net/guarded-dispatcher.js';
import { UPSTREAM_LIMITS } from '../platform/net/http-limits.js';
import { OpenConnections } from '../connections/open-connections.js';
import { LimitsModule } from '../platform/limits/limits.module.js';
import { NetModule } from '../platform/net/net.module.js';
import { TelemetryModule } from '../platform/telemetry/telemetry.module.js';
import { UpstreamTokensModule } from '../connections/upstream-oauth/tokens/upstream-tokens.module.js';
import { ArgumentChecker } from './arguments/argument-checker.js';
import { ToolCatalog, ToolLister } from './catalog/tool-catalog.js';
import { ListChangeFeed } from './catalog/list-change-feed.js';
import { UpstreamChannels } from './channels/upstream-channels.js';
import { ConnectionTester } from './pool/connection-tester.js';
import { FanOutReport } from './fan-out-report.js';
import { InvocationLog } from './invocation.js';
import { StdioProcesses } from './stdio/stdio-processes.js';
import { StdioSessions } from './stdio/stdio-sessions.js';
import { UpstreamSockets } from './sockets/upstream-sockets.js';
import { ToolCallLimits, ToolInvoker } from './tool-invoker.js';
import { OfferedTools } from './catalog/offered-tools.js';
import { PinnedToolEntity } from './pins/pinned-tool.entity.js';
import { PinnedToolRepository } from './pins/pinned-tool.repository.js';
import { ToolPins } from './pins/tool-pins.js';
import { ToolChanges } from './tool-changes/tool-changes.js';
import { ToolChangesTools } from './tool-changes/tool-changes.tools.js';
import { UpstreamFactory } from './pool/upstream-factory.js';
import { UpstreamHealth } from './pool/upstream-health.js';
import { UpstreamPool } from './pool/upstream-pool.js';
import { UpstreamRequests } from './upstream-requests.js';
import { UpstreamTargets } from './pool/upstream-targets.js';

/** How long an unused upstream keeps its session, in milliseconds; for programs, at least their idle limit. */
const POOL_IDLE_MS = 5 * 60_000;
const POOL_SIZE = 1_000;
/** How many upstreams are kept for owners. */
const OWNED_POOL_SIZE = 1_000;

function dispatcherFor(policy: AddressPolicy): GuardedDispatcher {
  return new GuardedDispatcher(policy, { connections: UPSTREAM_LIMITS.socketsPerOrigin });
}

/** The MCP clients of upstreams, and `ToolInvoker`, which calls their tools. */
@Module({
  imports: [
    TypeOrmModule.forFeature([PinnedToolEntity]),
    LimitsModule,
    AuditModule,
    ConnectionsModule,
    CredentialsModule,
    NetModule,
    TelemetryModule,
    UpstreamTokensModule,
  ],
  providers: [
    {
      provide: UpstreamSockets,
      inject: [AddressPolicy],
      useFactory: (policy: AddressPolicy) => new UpstreamSockets(dispatcherFor(policy), dispatcherFor(policy)),
    },
    {
      provide: StdioProcesses,
      inject: [AppConfig, ConnectionDirectory, AnswerRooms],
      useFactory: ({ settings }: AppConfig, connections: ConnectionDirectory, rooms: AnswerRooms) =>
        new StdioProcesses({
          maxProcesses: settings.stdioMaxProcesses,
          idleMs: settings.stdioIdleMs,
          maxMemoryBytes: settings.stdioMaxMemoryMb * 2 ** 20,
          environment: settings.stdioEnvironment,
          hasOthers: (organizationId) => connections.hasProgramsBeside(organizationId),
          rooms,
        }),
    },
    {
      provide: UpstreamPool,
      inject: [UpstreamFactory, ListChangeFeed, AppConfig, OpenConnections, OpenCredentials],
      useFactory: (
        upstreams: UpstreamFactory,
        feed: ListChangeFeed,
        { settings }: AppConfig,
        connections: OpenConnections,
        credentials: OpenCredentials,
      ) =>
        new UpstreamPool(
          (target, owner) => upstreams.create(target, (kind) => feed.tell(target.connectionId, kind), owner),
          {
            size: POOL_SIZE,
            idleMs: Math.max(POOL_IDLE_MS, settings.stdioIdleMs),
            ownedSize: OWNED_POOL_SIZE,
            ownedIdleMs: settings.gatewaySessionIdleMs,
          },
          {
            connection: ({ connectionId, revision }, onEnd) =>
              connections.watchConnection({ id: connectionId, revision: Number(revision) }, onEnd),
            credential: (credential, onEnd) => credentials.watchValidity(credential, onEnd),
          },
        ),
    },
    ListChangeFeed,
    UpstreamFactory,
    UpstreamTargets,
    {
      provide: StdioSessions,
      inject: [StdioProcesses, OpenConnections, OpenCredentials],
      useFactory: (processes: StdioProcesses, connections: OpenConnections, credentials: OpenCredentials) => {
        const sessions = new StdioSessions(processes);
        sessions.endWith(({ connectionId, revision }, _caller, end) =>
          connections.watchConnection({ id: connectionId, revision: Number(revision) }, end),
        );
        sessions.endWith((_target, caller, end) =>
          caller === undefined ? () => undefined : credentials.watchValidity(caller, end),
        );
        return sessions;
      },
    },
    { provide: ArgumentChecker, useFactory: () => new ArgumentChecker() },
    UpstreamChannels,
    UpstreamHealth,
    ToolLister,
    ToolCatalog,
    OfferedTools,
    PinnedToolRepository,
    ToolPins,
    ToolChanges,
    ToolChangesTools,
    ToolCallLimits,
    ToolInvoker,
    InvocationLog,
    ConnectionTester,
    UpstreamRequests,
    FanOutReport,
  ],
  exports: [
    ArgumentChecker,
    ToolInvoker,
    InvocationLog,
    ToolCatalog,
    OfferedTools,
    ToolPins,
    ListChangeFeed,
    UpstreamChannels,
    UpstreamHealth,
    ConnectionTester,
    UpstreamRequests,
    FanOutReport,
  ],
})
export class UpstreamsModule implements OnApplicationShutdown {
  constructor(private readonly sockets: UpstreamSockets) {}

  /** Nest calls a module after its providers, so the pool has ended its sessions before the sockets are destroyed. */
  onApplicationShutdown(): Promise<void> {
    return this.sockets.destroy();
  }
}
