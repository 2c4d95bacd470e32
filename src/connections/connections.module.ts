import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LongReadsModule } from '../platform/database/long-reads.module.js';
import { NetModule } from '../platform/net/net.module.js';
import { VaultModule } from '../platform/vault/vault.module.js';
import { ConnectionChanges } from './connection-changes.js';
import { ConnectionPins } from './connection-pins.js';
import { ConnectionDirectory } from './connection-directory.js';
import { AuthEditor } from './auth-editor.js';
import { ConnectionEditor } from './connection-editor.js';
import { ConnectionEntity } from './connection.entity.js';
import { ConnectionRepository } from './connection.repository.js';
import { ConnectionImportService } from './connection-import.service.js';
import { ConnectionImportTools } from './connection-import.tools.js';
import { ConnectionSecrets } from './connection-secrets.js';
import { ConnectionService } from './connection.service.js';
import { ConnectionTools } from './connection.tools.js';
import { StdioEditor } from './stdio-editor.js';
import { OpenConnections } from './open-connections.js';
import { UpstreamKinds } from './upstream-kind.js';
import { VirtualConnections } from './virtual-connections.js';

/** Connections to upstream MCP servers, and the connection rows of agents. */
@Module({
  imports: [TypeOrmModule.forFeature([ConnectionEntity]), LongReadsModule, NetModule, VaultModule, DiscoveryModule],
  providers: [
    ConnectionService,
    ConnectionRepository,
    AuthEditor,
    ConnectionEditor,
    ConnectionSecrets,
    ConnectionDirectory,
    ConnectionChanges,
    ConnectionPins,
    ConnectionTools,
    ConnectionImportService,
    ConnectionImportTools,
    OpenConnections,
    StdioEditor,
    UpstreamKinds,
    VirtualConnections,
  ],
  exports: [
    ConnectionChanges,
    ConnectionDirectory,
    ConnectionPins,
    ConnectionSecrets,
    ConnectionService,
    OpenConnections,
    UpstreamKinds,
    VirtualConnections,
  ],
})
export class ConnectionsModule {}
