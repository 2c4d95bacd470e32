import { Module } from '@nestjs/common';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { ForwardingModule } from '../forwarding/forwarding.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { HeldCalls } from './held-calls/held-calls.js';
import { OpenQuestions } from './held-calls/open-questions.js';
import { OneWayForwarder } from './one-way-forwarder.js';
import { InitializeNegotiator } from './initialize-negotiator.js';
import { ModernRequestTranslator } from './modern-request-translator.js';
import { UpstreamEras } from './upstream-eras.js';

/** Translates between callers and upstreams of different protocol eras. */
@Module({
  imports: [ForwardingModule, UpstreamsModule, VaultModule],
  providers: [HeldCalls, InitializeNegotiator, ModernRequestTranslator, OneWayForwarder, OpenQuestions, UpstreamEras],
  exports: [OneWayForwarder, InitializeNegotiator, ModernRequestTranslator, UpstreamEras],
})
export class TranslationModule {}
