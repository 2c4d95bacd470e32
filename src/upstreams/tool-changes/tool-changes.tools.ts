import { Injectable } from '@nestjs/common';
import { ConnectionIdInput } from '../../connections/connection.dto.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { ToolChanges } from './tool-changes.js';
import { ToolsApproved, ToolsApproveInput, ToolsDiff } from './tool-changes.dto.js';

@Injectable()
export class ToolChangesTools {
  constructor(private readonly changes: ToolChanges) {}

  @ManagementTool({
    name: 'CONNECTION_TOOLS_DIFF',
    description:
      'Lists the tools of a connection and shows those whose definition is not approved (pin), with what has changed ' +
      'since the last approved definition.',
    input: ConnectionIdInput,
    output: ToolsDiff,
    annotations: READ_ONLY,
  })
  diff({ id }: ConnectionIdInput, caller: Principal, answer: HeldAnswer): Promise<ToolsDiff> {
    return this.changes.diff(id, caller, answer);
  }

  @ManagementTool({
    name: 'CONNECTION_TOOLS_APPROVE',
    description:
      'Approves the definitions that a connection lists now of these tools. An approved definition stays approved ' +
      'while the pin is on, also after others were approved.',
    input: ToolsApproveInput,
    output: ToolsApproved,
    annotations: UPDATES,
  })
  approve(input: ToolsApproveInput, caller: Principal): Promise<ToolsApproved> {
    return this.changes.approve(input, caller);
  }
}
