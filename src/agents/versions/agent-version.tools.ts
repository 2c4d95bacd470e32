import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { AgentIdInput } from '../records/agent.dto.js';
import { AgentRestored, AgentVersionAnswer, AgentVersionInput, AgentVersionList } from './agent-version.dto.js';
import { AgentVersions } from './agent-versions.js';

@Injectable()
export class AgentVersionTools {
  constructor(private readonly versions: AgentVersions) {}

  @ManagementTool({
    name: 'AGENT_VERSIONS_LIST',
    description:
      'Lists the last 100 versions of an agent, newest first: who made each, and which properties changed. Every ' +
      'change of an agent makes a version; its status, spending limit and slug are not part of it.',
    input: AgentIdInput,
    output: AgentVersionList,
    annotations: READ_ONLY,
  })
  list({ id }: AgentIdInput, caller: Principal, answer: HeldAnswer): Promise<AgentVersionList> {
    return this.versions.list(id, caller, answer);
  }

  @ManagementTool({
    name: 'AGENT_VERSION_GET',
    description: 'Reads what an agent was in a version.',
    input: AgentVersionInput,
    output: AgentVersionAnswer,
    annotations: READ_ONLY,
  })
  get({ id, number }: AgentVersionInput, caller: Principal): Promise<AgentVersionAnswer> {
    return this.versions.get(id, number, caller);
  }

  @ManagementTool({
    name: 'AGENT_VERSION_RESTORE',
    description:
      'Takes an agent back to a version, which makes a new version. The caller needs the same grants as for ' +
      'COLLECTION_VIRTUAL_MCP_UPDATE. Connections that were deleted since are left out.',
    input: AgentVersionInput,
    output: AgentRestored,
    annotations: UPDATES,
  })
  restore({ id, number }: AgentVersionInput, caller: Principal): Promise<AgentRestored> {
    return this.versions.restore(id, number, caller);
  }
}
