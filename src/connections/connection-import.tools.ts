import { Injectable } from '@nestjs/common';
import { ManagementTool, UPDATES } from '../core/tools/management-tool.js';
import type { Principal } from '../core/principal.js';
import { ConnectionImportInput, ConnectionImportOutput } from './connection-import.dto.js';
import { ConnectionImportService } from './connection-import.service.js';

@Injectable()
export class ConnectionImportTools {
  constructor(private readonly service: ConnectionImportService) {}

  @ManagementTool({
    name: 'CONNECTION_IMPORT',
    description:
      'Creates and updates connections from the mcpServers of a configuration file of an MCP client. Entries are ' +
      'matched by name. A refused entry has its reason, and the others are imported. Nothing is started.',
    input: ConnectionImportInput,
    output: ConnectionImportOutput,
    annotations: UPDATES,
    permissions: ['COLLECTION_CONNECTIONS_CREATE', 'COLLECTION_CONNECTIONS_UPDATE'],
  })
  async importServers(input: ConnectionImportInput, caller: Principal): Promise<ConnectionImportOutput> {
    return { items: await this.service.importServers(input, caller) };
  }
}
