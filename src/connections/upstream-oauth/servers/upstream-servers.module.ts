import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConnectionsModule } from '../../connections.module.js';
import { NetModule } from '../../../platform/net/net.module.js';
import { VaultModule } from '../../../platform/vault/vault.module.js';
import { ConfiguredClients } from './configured-clients.js';
import { ServerDiscovery } from './server-discovery.js';
import { UpstreamClientEntity } from './upstream-client.entity.js';
import { UpstreamClientRepository } from './upstream-client.repository.js';

/** The authorization servers of upstreams, and this service as their client. */
@Module({
  imports: [TypeOrmModule.forFeature([UpstreamClientEntity]), ConnectionsModule, NetModule, VaultModule],
  providers: [ConfiguredClients, ServerDiscovery, UpstreamClientRepository],
  exports: [ConfiguredClients, ServerDiscovery, UpstreamClientRepository],
})
export class UpstreamServersModule {}
