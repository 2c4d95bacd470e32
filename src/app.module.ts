import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { AccessModule } from './proxy/access/access.module.js';
import { AgentsModule } from './agents/agents.module.js';
import { ApiKeysModule } from './identity/api-keys/api-keys.module.js';
import { ApprovalsModule } from './runtime/approvals/approvals.module.js';
import { AuditModule } from './audit/calls/audit.module.js';
import { AuditEventsModule } from './audit/events/audit-events.module.js';
import { AuditSettingsModule } from './audit/settings/audit-settings.module.js';
import { AuthGuard } from './identity/auth/auth.guard.js';
import { AuthModule } from './identity/auth/auth.module.js';
import { ExportsModule } from './api/exports/exports.module.js';
import { FirstStartModule } from './boot/first-start.module.js';
import { AnswerBudgetModule } from './core/answers/answer-budget.module.js';
import { ProblemDetailsFilter } from './core/problem-details.filter.js';
import type { AppConfig } from './core/config/app-config.js';
import { ConfigModule } from './core/config/config.module.js';
import { ChangesModule } from './console/changes/changes.module.js';
import { ConsoleModule } from './console/console.module.js';
import { ConnectionsModule } from './connections/connections.module.js';
import { DatabaseModule } from './platform/database/database.module.js';
import { EventsModule } from './runtime/events/events.module.js';
import { FilesModule } from './runtime/files/files.module.js';
import { HealthModule } from './platform/health/health.module.js';
import { ModelsModule } from './agents/models/models.module.js';
import { OrganizationsModule } from './identity/organizations/organizations.module.js';
import { ProxyModule } from './proxy/proxy.module.js';
import { SelfModule } from './proxy/self/self.module.js';
import { OauthModule } from './identity/oauth/oauth.module.js';
import { QueueModule } from './platform/queue/queue.module.js';
import { ResponsesModule } from './runtime/responses/responses.module.js';
import { RetentionModule } from './runtime/retention/retention.module.js';
import { RunsModule } from './runtime/runs/runs.module.js';
import { RunWorkerModule } from './runtime/worker/run-worker.module.js';
import { SchedulesModule } from './automation/schedules/schedules.module.js';
import { SignInModule } from './identity/sign-in/sign-in.module.js';
import { StreamingModule } from './runtime/streaming/streaming.module.js';
import type { OpenTelemetry } from './platform/telemetry/open-telemetry.js';
import { OpenTelemetryModule } from './platform/telemetry/open-telemetry.module.js';
import { TelemetryModule } from './platform/telemetry/telemetry.module.js';
import { ThreadTokensModule } from './runtime/thread-tokens/thread-tokens.module.js';
import { ThreadsModule } from './runtime/threads/threads.module.js';
import { ToolsModule } from './api/tools/tools.module.js';
import { TurnsModule } from './runtime/turns/turns.module.js';
import { UpstreamAuthorizationModule } from './connections/upstream-oauth/authorization/upstream-authorization.module.js';
import { TrustedIssuersModule } from './identity/trusted-issuers/trusted-issuers.module.js';
import { WebhookDeliveryModule } from './automation/webhooks/webhook-delivery.module.js';
import { WebhooksModule } from './automation/webhooks/webhooks.module.js';
import { UpstreamsModule } from './upstreams/upstreams.module.js';

/** What every process needs, whatever its role. */
const PLATFORM = [
  TelemetryModule,
  DatabaseModule,
  QueueModule,
  EventsModule,
  HealthModule,
  AuditModule,
  AuditEventsModule,
  AuditSettingsModule,
];

/** The guard of all routes, and the kinds of credentials that it accepts. */
const AUTHENTICATION = [AuthModule, ApiKeysModule, TrustedIssuersModule];

/** What answers HTTP callers. */
const API = [
  OrganizationsModule,
  FirstStartModule,
  SignInModule,
  ToolsModule,
  ExportsModule,
  ChangesModule,
  ConnectionsModule,
  UpstreamsModule,
  UpstreamAuthorizationModule,
  AgentsModule,
  ModelsModule,
  ThreadsModule,
  ThreadTokensModule,
  RunsModule,
  FilesModule,
  ApprovalsModule,
  StreamingModule,
  TurnsModule,
  ResponsesModule,
  WebhooksModule,
  SchedulesModule,
  OauthModule,
  SelfModule,
  ProxyModule,
  AccessModule,
];

/** What executes runs, delivers webhooks, and deletes what organizations no longer keep. */
const WORKER = [RunWorkerModule, WebhookDeliveryModule, RetentionModule];

/** What is added to the modules of the role. */
export interface AppOptions {
  /** Modules of an extending team. */
  modules?: readonly (Type | DynamicModule)[];
  /** The OpenTelemetry providers, already open; without them the application opens its own. */
  telemetry?: OpenTelemetry;
}

/** The application: a list of modules for each role, one guard for all routes and one filter for all errors. */
@Module({})
export class AppModule {
  static forRoot(config: AppConfig, { modules = [], telemetry }: AppOptions = {}): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        OpenTelemetryModule.forRoot(telemetry),
        AnswerBudgetModule.forRoot(config.settings.answerMemoryBytes),
        ...PLATFORM,
        ...AUTHENTICATION,
        ...(config.servesApi ? API : []),
        ...(config.servesConsole ? [ConsoleModule] : []),
        ...(config.runsJobs ? WORKER : []),
        ...modules,
      ],
      providers: [
        ProblemDetailsFilter,
        { provide: APP_FILTER, useExisting: ProblemDetailsFilter },
        { provide: APP_GUARD, useExisting: AuthGuard },
      ],
    };
  }
}
