import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../core/answers/answer-budget.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../core/tools/management-tool.js';
import { TimeSlices } from '../core/time-slices.js';
import type { Principal } from '../core/principal.js';
import { SpendWarnings } from '../platform/limits/spend-warnings.js';
import {
  AgentAnswer,
  AgentChanged,
  AgentCreateInput,
  AgentDetails,
  AgentIdInput,
  AgentListInput,
  AgentPage,
  AgentUpdateInput,
} from './records/agent.dto.js';
import { AgentsService } from './records/agents.service.js';
import { DressingCheck } from './dressing-check.js';
import { AgentComposition } from './composition/agent-composition.js';
import { placesForModels } from './composition/composition.js';
import { appliedMode, definitionTokens, searchModeTokens } from './search/tool-mode.js';

@Injectable()
export class AgentTools {
  constructor(
    private readonly service: AgentsService,
    private readonly compositions: AgentComposition,
    private readonly warnings: SpendWarnings,
    private readonly dressings: DressingCheck,
  ) {}

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_LIST',
    description:
      "Lists the organization's agents. orderBy and where accept id, title, description, status, created_at and " +
      'updated_at (orderBy does not accept description). connection_id lists the agents that use a connection or ' +
      'agent.',
    input: AgentListInput,
    output: AgentPage,
    annotations: READ_ONLY,
  })
  list(input: AgentListInput, caller: Principal, answer: HeldAnswer): Promise<AgentPage> {
    return this.service.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_GET',
    description: 'Reads one agent, the names of its tools, and what their definitions cost a model in tokens.',
    input: AgentIdInput,
    output: AgentDetails,
    annotations: READ_ONLY,
  })
  async get({ id }: AgentIdInput, caller: Principal): Promise<AgentDetails> {
    const item = await this.service.get(id, caller);
    const composition = await this.compositions.lastKnownOf({
      id: item.id,
      organizationId: caller.organization.id,
    });
    const { places } = composition;
    const tools = [...places.values()].map(({ name, connection, upstreamName }) => ({
      name,
      connection_id: connection.id,
      upstream_name: upstreamName,
    }));
    const offered = placesForModels(composition);
    const slices = new TimeSlices(caller.organization.id);
    const all = await definitionTokens(offered, slices);
    const search = await searchModeTokens(composition, offered, slices);
    const applied = await appliedMode(composition, offered, slices);
    return { item, tools, definition_tokens: { all, search }, applied_tool_mode: applied };
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_CREATE',
    description:
      'Creates an agent: instructions, and one endpoint for the tools of the given connections. The caller needs ' +
      'grants on every selected tool; selected_tools null requires * on the connection. A selected tool can be an ' +
      'object that gives it a name, a description, and arguments which are fixed or hidden.',
    input: AgentCreateInput,
    output: AgentChanged,
    annotations: CREATES,
  })
  async create(input: AgentCreateInput, caller: Principal): Promise<AgentChanged> {
    await this.dressings.requireFit(input.data.connections, caller);
    const item = await this.service.create(input.data, caller);
    return { item, ...(await this.warnings.after(input.data.spend, caller)) };
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_UPDATE',
    description:
      'Changes the given properties of an agent; null clears, connections replaces the whole list. The caller ' +
      'needs grants on every added tool, and on every tool of a connection whose rule asks for fewer approvals. ' +
      'Changing the instructions or the output schema, and sending the output to webhooks, requires grants on every ' +
      'selected tool.',
    input: AgentUpdateInput,
    output: AgentChanged,
    annotations: UPDATES,
  })
  async update(input: AgentUpdateInput, caller: Principal): Promise<AgentChanged> {
    await this.dressings.requireFit(input.data.connections, caller);
    const item = await this.service.update(input.id, input.data, caller);
    return { item, ...(await this.warnings.after(input.data.spend, caller)) };
  }

  @ManagementTool({
    name: 'COLLECTION_VIRTUAL_MCP_DELETE',
    description: 'Deletes an agent. Its connections are kept.',
    input: AgentIdInput,
    output: AgentAnswer,
    annotations: DESTROYS,
  })
  async delete(input: AgentIdInput, caller: Principal): Promise<AgentAnswer> {
    return { item: await this.service.delete(input.id, caller) };
  }
}
