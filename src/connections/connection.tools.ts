import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../core/answers/answer-budget.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../core/tools/management-tool.js';
import { ListInput } from '../core/paging/list-input.js';
import type { Principal } from '../core/principal.js';
import {
  ConnectionAnswer,
  ConnectionCreateInput,
  ConnectionIdInput,
  ConnectionPage,
  ConnectionUpdateInput,
} from './connection.dto.js';
import { ConnectionService } from './connection.service.js';

@Injectable()
export class ConnectionTools {
  constructor(private readonly service: ConnectionService) {}

  @ManagementTool({
    name: 'COLLECTION_CONNECTIONS_LIST',
    description:
      "Lists the organization's connections; agents are those of type VIRTUAL. orderBy and where accept id, title, " +
      'description, connection_type, status, created_at and updated_at (orderBy does not accept description).',
    input: ListInput,
    output: ConnectionPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<ConnectionPage> {
    return this.service.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'COLLECTION_CONNECTIONS_GET',
    description: 'Reads one connection. Secrets are shown as "***".',
    input: ConnectionIdInput,
    output: ConnectionAnswer,
    annotations: READ_ONLY,
  })
  async get(input: ConnectionIdInput, caller: Principal): Promise<ConnectionAnswer> {
    return { item: await this.service.get(input.id, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_CONNECTIONS_CREATE',
    description:
      'Creates a connection to an MCP server: over HTTP (connection_url), or to a program that runs on the server ' +
      '(STDIO; stdio, for callers with the permission CONNECTION_STDIO). Token, header values and values of ' +
      'stdio.env are stored encrypted; stdio.args are not.',
    input: ConnectionCreateInput,
    output: ConnectionAnswer,
    annotations: CREATES,
  })
  async create(input: ConnectionCreateInput, caller: Principal): Promise<ConnectionAnswer> {
    return { item: await this.service.create(input.data, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_CONNECTIONS_UPDATE',
    description:
      'Changes the given properties of a connection; null clears a property, "***" keeps a stored secret. ' +
      'stdio replaces the whole program. If connection_url changes the server, or stdio changes the program, stored ' +
      'secrets must be sent again or removed. ' +
      'A VIRTUAL connection accepts only title, description and status.',
    input: ConnectionUpdateInput,
    output: ConnectionAnswer,
    annotations: UPDATES,
  })
  async update(input: ConnectionUpdateInput, caller: Principal): Promise<ConnectionAnswer> {
    return { item: await this.service.update(input.id, input.data, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_CONNECTIONS_DELETE',
    description:
      'Deletes a connection and removes it from every agent. Deleting a VIRTUAL connection deletes the agent.',
    input: ConnectionIdInput,
    output: ConnectionAnswer,
    annotations: DESTROYS,
  })
  async delete(input: ConnectionIdInput, caller: Principal): Promise<ConnectionAnswer> {
    return { item: await this.service.delete(input.id, caller) };
  }
}
