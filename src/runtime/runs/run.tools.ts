import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DESTROYS, ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { requireOwnThread } from '../../core/thread-access.js';
import { type RunDetails, RunGetInput, RunOutput, RunPage } from './records/run.dto.js';
import { RunReader } from './records/run-reader.js';
import { RunCancellationService } from './run-cancellation.service.js';

@Injectable()
export class RunTools {
  constructor(
    private readonly runs: RunReader,
    private readonly cancellation: RunCancellationService,
  ) {}

  @ManagementTool({
    name: 'RUN_GET',
    description:
      'Reads a run by its taskId: status, error, token usage, cost, attempt, trace, model calls with times, ' +
      'pending approvals.',
    input: RunGetInput,
    output: RunOutput,
    annotations: READ_ONLY,
  })
  async get(input: RunGetInput, caller: Principal, answer: HeldAnswer): Promise<RunOutput> {
    const item = await this.runs.getRun(caller, input.id, answer);
    requireOwnThread(caller, item.thread_id);
    // The users of a website need not know what its operator pays, and where its traces are.
    return { item: caller.thread === undefined ? item : withoutInternals(item) };
  }

  @ManagementTool({
    name: 'RUN_LIST',
    description: "Lists the organization's runs, newest first by default.",
    input: ListInput,
    output: RunPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<RunPage> {
    return this.runs.listRuns(caller, input, answer);
  }

  @ManagementTool({
    name: 'RUN_CANCEL',
    description: 'Cancels a run by its taskId. The transcript keeps the answer so far. A finished run does not change.',
    input: RunGetInput,
    output: RunOutput,
    annotations: DESTROYS,
  })
  async cancel(input: RunGetInput, caller: Principal): Promise<RunOutput> {
    return { item: await this.cancellation.cancelRun(input.id, caller) };
  }
}

function withoutInternals(run: RunDetails): RunDetails {
  const calls = run.model_calls.map((call) => ({ ...call, cost_usd: null, provider_id: null }));
  return { ...run, cost_usd: null, trace_url: null, model_calls: calls };
}
