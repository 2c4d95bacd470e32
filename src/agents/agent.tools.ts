import { Injectable } from '@nestjs/common';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../common/management-tool.js';
import { ListInput } from '../common/paging/list-input.js';
import type { Principal } from '../common/principal.js';
import { AgentAnswer, AgentCreateInput, AgentIdInput, AgentPage, AgentUpdateInput } from './agent.dto.js';
import { AgentsService } from './agents.service.js';

@Injectable()
export class AgentTools {
  constructor(private readonly service: AgentsService) {}

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_LIST',
    description:
      "Lists the organization's agents. orderBy and where know id, title, description, status, created_at and updated_at " +
      '(no order by description).',
    input: ListInput,
    output: AgentPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal): Promise<AgentPage> {
    return this.service.list(input, caller);
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_GET',
    description: 'Reads one agent.',
    input: AgentIdInput,
    output: AgentAnswer,
    annotations: READ_ONLY,
  })
  async get(input: AgentIdInput, caller: Principal): Promise<AgentAnswer> {
    return { item: await this.service.get(input.id, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_CREATE',
    description: 'Creates an agent: instructions, and the tools of the given connections behind one endpoint.',
    input: AgentCreateInput,
    output: AgentAnswer,
    annotations: CREATES,
  })
  async create(input: AgentCreateInput, caller: Principal): Promise<AgentAnswer> {
    return { item: await this.service.create(input.data, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_UPDATE',
    description: 'Changes the given properties of an agent; null clears, connections replaces the whole list.',
    input: AgentUpdateInput,
    output: AgentAnswer,
    annotations: UPDATES,
  })
  async update(input: AgentUpdateInput, caller: Principal): Promise<AgentAnswer> {
    return { item: await this.service.update(input.id, input.data, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_DELETE',
    description: 'Deletes an agent; its connections stay.',
    input: AgentIdInput,
    output: AgentAnswer,
    annotations: DESTROYS,
  })
  async delete(input: AgentIdInput, caller: Principal): Promise<AgentAnswer> {
    return { item: await this.service.delete(input.id, caller) };
  }
}
