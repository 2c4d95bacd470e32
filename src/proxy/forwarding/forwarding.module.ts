import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { TelemetryModule } from '../../platform/telemetry/telemetry.module.js';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { ReplyWriter } from './reply-writer.js';
import { RequestForwarder } from './request-forwarder.js';
import { SessionOpening } from './session-opening.js';
import { SealedSessions } from './session/sealed-sessions.js';
import { SignInStates } from './session/sign-in-states.js';
import { SessionTools } from './session/session-tools.js';
import { UsedSignInEntity } from './session/used-sign-in.entity.js';
import { UsedSignIns } from './session/used-sign-ins.repository.js';
import { TaskOwnerEntity } from './tasks/task-owner.entity.js';
import { TaskOwnerRepository } from './tasks/task-owner.repository.js';
import { TaskOwners } from './tasks/task-owners.js';
import { ToolCalls } from './tool-calls.js';
import { UpstreamRouter } from './upstream-router.js';
import { UpstreamSender } from './upstream-sender.js';

/** Forwards one message to one upstream, and relays the answer. */
@Module({
  imports: [
    TypeOrmModule.forFeature([TaskOwnerEntity, UsedSignInEntity]),
    CredentialsModule,
    TelemetryModule,
    UpstreamsModule,
    VaultModule,
  ],
  providers: [
    ReplyWriter,
    RequestForwarder,
    SealedSessions,
    SessionOpening,
    SessionTools,
    SignInStates,
    TaskOwnerRepository,
    TaskOwners,
    ToolCalls,
    UpstreamRouter,
    UpstreamSender,
    UsedSignIns,
  ],
  exports: [
    ReplyWriter,
    RequestForwarder,
    SealedSessions,
    SessionTools,
    SignInStates,
    TaskOwners,
    UpstreamRouter,
    UpstreamSender,
  ],
})
export class ForwardingModule {}
