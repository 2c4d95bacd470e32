import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { ConnectionsModule } from '../connections/connections.module.js';
import { AddressPolicy } from '../net/address-policy.js';
import { GuardedDispatcher } from '../net/guarded-dispatcher.js';
import { NetModule } from '../net/net.module.js';
import { ConnectionTester } from './connection-tester.service.js';
import { HttpUpstream } from './http-upstream.js';
import { ToolInvoker } from './tool-invoker.js';
import { UpstreamPool } from './upstream-pool.js';
import { UpstreamTargets } from './upstream-targets.js';

/** The clients of upstream MCP servers behind one door. */
@Module({
  imports: [ConnectionsModule, NetModule],
  providers: [
    {
      provide: GuardedDispatcher,
      inject: [AddressPolicy],
      useFactory: (policy: AddressPolicy) => new GuardedDispatcher(policy),
    },
    {
      provide: UpstreamPool,
      inject: [GuardedDispatcher],
      useFactory: (dispatcher: GuardedDispatcher) => new UpstreamPool((target) => new HttpUpstream(target, dispatcher)),
    },
    UpstreamTargets,
    ToolInvoker,
    ConnectionTester,
  ],
  exports: [ToolInvoker, ConnectionTester],
})
export class UpstreamsModule implements OnApplicationShutdown {
  constructor(private readonly dispatcher: GuardedDispatcher) {}

  /** Nest calls a module after its providers, so the pool has ended its sessions when the sockets go. */
  onApplicationShutdown(): Promise<void> {
    return this.dispatcher.destroy();
  }
}
