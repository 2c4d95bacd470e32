import { Injectable } from '@nestjs/common';
import { DESTROYS, ManagementTool } from '../common/tools/management-tool.js';
import type { Principal } from '../common/principal.js';
import { RunGetInput, RunOutput } from './records/run.dto.js';
import { RunCancellationService } from './run-cancellation.service.js';

@Injectable()
export class RunCancelTools {
  constructor(private readonly cancellation: RunCancellationService) {}

  @ManagementTool({
    name: 'RUN_CANCEL',
    description:
      'Cancels a run by its taskId. The answer so far stays in the transcript; a finished run stays as it is.',
    input: RunGetInput,
    output: RunOutput,
    annotations: DESTROYS,
  })
  async cancel(input: RunGetInput, caller: Principal): Promise<RunOutput> {
    return { item: await this.cancellation.cancelRun(input.id, caller) };
  }
}
