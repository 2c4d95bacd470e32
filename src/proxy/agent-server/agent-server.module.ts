import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AgentsModule } from '../../agents/agents.module.js';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { ConnectionsModule } from '../../connections/connections.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { ForwardingModule } from '../forwarding/forwarding.module.js';
import { TranslationModule } from '../translation/translation.module.js';
import { AnswerBudgetModule } from '../../core/answers/answer-budget.module.js';
import { LimitsModule } from '../../platform/limits/limits.module.js';
import { ApprovalsModule } from '../../runtime/approvals/approvals.module.js';
import { RunsModule } from '../../runtime/runs/runs.module.js';
import { ThreadsModule } from '../../runtime/threads/threads.module.js';
import { TurnsModule } from '../../runtime/turns/turns.module.js';
import { AgentRequestHandler, AgentSessionHandler } from './agent-request-handler.js';
import { ClientSessionHandler } from './client-upstream-sessions/client-session-handler.js';
import { ClientSessionStreams } from './client-upstream-sessions/client-session-streams.js';
import { ClientUpstreamSessionOpener } from './client-upstream-sessions/client-upstream-session-opener.js';
import { ClientUpstreamSessions } from './client-upstream-sessions/client-upstream-sessions.js';
import { RequestIdCodec } from './client-upstream-sessions/request-id.codec.js';
import { SessionComposition } from './client-upstream-sessions/session-composition.js';
import { SessionResources } from './client-upstream-sessions/session-resources.js';
import { AgentAnswers } from './agent-answers.js';
import { AgentOwnTools } from './agent-own-tools.js';
import { AgentSourceRequests, AgentTaskRouter } from './agent-source-requests.js';
import { AgentToolSearch } from './agent-tool-search.js';
import { AskApprovals } from './ask/ask-approvals.js';
import { AskTasks } from './ask/ask-tasks.js';
import { AskTool, CallQuestions } from './ask/ask-tool.js';
import { AskedRuns } from './ask/asked-runs.js';
import { AskedTaskEntity } from './ask/asked-task.entity.js';
import { AskedTasks } from './ask/asked-tasks.repository.js';
import { LegacyAskTasks, LegacyTaskResults } from './ask/legacy-ask-tasks.js';
import { SessionQuestions } from './ask/session-questions.js';
import { LegacyAskRequests } from './legacy-ask-requests.js';
import { AgentCapabilities } from './offering/agent-capabilities.js';
import { AgentMcpServer } from './offering/agent-mcp-server.js';
import { AgentNotificationStream, ListChanges } from './offering/agent-notification-stream.js';
import { AgentPromptsAndResources } from './offering/agent-prompts-and-resources.js';
import { AgentSubscriptions } from './offering/agent-subscriptions.js';
import { AgentToolRouter } from './offering/agent-tool-router.js';

/**
 * Serves an agent as an MCP server: what it offers a caller, and the sessions with its connections in that caller's
 * name.
 */
@Module({
  imports: [
    TypeOrmModule.forFeature([AskedTaskEntity]),
    AgentsModule,
    AnswerBudgetModule,
    ApprovalsModule,
    CredentialsModule,
    ConnectionsModule,
    ForwardingModule,
    LimitsModule,
    RunsModule,
    TelemetryModule,
    ThreadsModule,
    TranslationModule,
    TurnsModule,
    UpstreamsModule,
    VaultModule,
  ],
  providers: [
    AgentAnswers,
    AgentCapabilities,
    AgentMcpServer,
    AgentNotificationStream,
    AgentOwnTools,
    AgentPromptsAndResources,
    AgentRequestHandler,
    AgentSessionHandler,
    AgentSourceRequests,
    AgentSubscriptions,
    AgentTaskRouter,
    AgentToolRouter,
    AgentToolSearch,
    AskApprovals,
    AskedRuns,
    AskedTasks,
    AskTasks,
    AskTool,
    CallQuestions,
    ClientSessionHandler,
    ClientSessionStreams,
    ClientUpstreamSessionOpener,
    ClientUpstreamSessions,
    LegacyAskRequests,
    LegacyAskTasks,
    LegacyTaskResults,
    ListChanges,
    RequestIdCodec,
    SessionComposition,
    SessionQuestions,
    SessionResources,
  ],
  exports: [AgentOwnTools, AgentRequestHandler, AgentToolRouter, ClientSessionStreams, ClientUpstreamSessions],
})
export class AgentServerModule {}
