import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConnectionsModule } from '../../connections/connections.module.js';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { AskedClients } from './asked-clients/asked-client.js';
import { OpenRequests, WaitingPlaces } from './asked-clients/open-requests.js';
import { CallerFilters } from './caller-filters.js';
import { ConnectionSessions } from './connection-sessions.js';
import { ReplyWriter } from './reply-writer.js';
import { RequestAdmission, RequestForwarder } from './request-forwarder.js';
import { RequestStates, SignInStates } from './session/request-states.js';
import { SealedRequestIds } from './session/sealed-request-ids.js';
import { SealedSessions } from './session/sealed-sessions.js';
import { SessionStreams } from './session/session-streams.js';
import { SessionTools } from './session/session-tools.js';
import { UsedSignInEntity } from './session/used-sign-in.entity.js';
import { UsedSignIns } from './session/used-sign-ins.repository.js';
import { ConnectionTasks } from './tasks/connection-tasks.js';
import { SealedTaskIds } from './tasks/sealed-task-ids.js';
import { TaskOwnerEntity } from './tasks/task-owner.entity.js';
import { TaskOwnerRepository } from './tasks/task-owner.repository.js';
import { TaskOwners } from './tasks/task-owners.js';
import { UpstreamRouter } from './upstream-router.js';
import { UpstreamSender } from './upstream-sender.js';

/** Forwards one message to one upstream, and relays the answer. */
@Module({
  imports: [
    TypeOrmModule.forFeature([TaskOwnerEntity, UsedSignInEntity]),
    ConnectionsModule,
    CredentialsModule,
    TelemetryModule,
    UpstreamsModule,
    VaultModule,
  ],
  providers: [
    AskedClients,
    CallerFilters,
    ConnectionSessions,
    ConnectionTasks,
    OpenRequests,
    ReplyWriter,
    RequestAdmission,
    RequestForwarder,
    RequestStates,
    SealedRequestIds,
    SealedSessions,
    SealedTaskIds,
    SessionStreams,
    SessionTools,
    SignInStates,
    TaskOwnerRepository,
    TaskOwners,
    UpstreamRouter,
    UpstreamSender,
    UsedSignIns,
    WaitingPlaces,
  ],
  exports: [
    ConnectionSessions,
    ConnectionTasks,
    OpenRequests,
    ReplyWriter,
    RequestForwarder,
    RequestStates,
    SealedRequestIds,
    SealedSessions,
    SealedTaskIds,
    SessionStreams,
    SessionTools,
    SignInStates,
    UpstreamRouter,
    UpstreamSender,
    WaitingPlaces,
  ],
})
export class ForwardingModule {}
