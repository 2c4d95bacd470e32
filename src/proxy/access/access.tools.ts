import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import { AccessGraphs } from './access-graph.js';
import { AccessOfCallers } from './access-of-caller.js';
import { AccessToTools } from './access-to-tools.js';
import {
  AccessGraph,
  AccessGraphInput,
  AccessOfCaller,
  AccessOfCallerInput,
  AccessTools,
  AccessToolsInput,
  AccessToTool,
  AccessToToolInput,
} from './access.dto.js';

/** Who reaches what. Each answer is what the permissions of the service decide at this moment. */
@Injectable()
export class AccessManagementTools {
  constructor(
    private readonly ofCallers: AccessOfCallers,
    private readonly toTools: AccessToTools,
    private readonly graphs: AccessGraphs,
  ) {}

  @ManagementTool({
    name: 'ACCESS_OF_CALLER',
    description:
      'What an API key (api_key_id) or a member (user_id) can do: the management tools, and the connections and ' +
      'agents that it reaches, with the number of tools that it can call there. where and orderBy are those of ' +
      'COLLECTION_CONNECTIONS_LIST; a page covers at most 100 connections and agents, and leaves out those that ' +
      'are out of reach.',
    input: AccessOfCallerInput,
    output: AccessOfCaller,
    annotations: READ_ONLY,
  })
  accessOf(input: AccessOfCallerInput, caller: Principal, answer: HeldAnswer): Promise<AccessOfCaller> {
    return this.ofCallers.accessOf(input, caller, answer);
  }

  @ManagementTool({
    name: 'ACCESS_TO_TOOL',
    description:
      'Who can call a tool: the API keys and people that reach it directly, at the endpoint of an agent, or by ' +
      'running an agent that has it. connection_id names a connection, or an agent with the name that the tool has ' +
      'there.',
    input: AccessToToolInput,
    output: AccessToTool,
    annotations: READ_ONLY,
  })
  accessTo(input: AccessToToolInput, caller: Principal, answer: HeldAnswer): Promise<AccessToTool> {
    return this.toTools.accessTo(input, caller, answer);
  }

  @ManagementTool({
    name: 'ACCESS_TOOLS_LIST',
    description:
      'Lists the tools that a connection or agent was last known to have; without connection_id, those of the first ' +
      '20 connections that have one with search in its name. With api_key_id or user_id, whether that caller can call ' +
      'each of them there.',
    input: AccessToolsInput,
    output: AccessTools,
    annotations: READ_ONLY,
  })
  list(input: AccessToolsInput, caller: Principal, answer: HeldAnswer): Promise<AccessTools> {
    return this.toTools.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'ACCESS_GRAPH',
    description:
      'A picture of the organization: its API keys and people, agents and connections, who reaches what, and the ' +
      'calls, errors and approvals of a time range on each way. Covers the last 24 hours unless from and to are set.',
    input: AccessGraphInput,
    output: AccessGraph,
    annotations: READ_ONLY,
  })
  graph(input: AccessGraphInput, caller: Principal, answer: HeldAnswer): Promise<AccessGraph> {
    return this.graphs.read(input, caller, answer);
  }
}
