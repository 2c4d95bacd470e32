import { Injectable } from '@nestjs/common';
import { type HeldAnswer, HELD_PER_JSON_BYTE } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { ManagementTool, READ_ONLY } from '../../core/tools/management-tool.js';
import { ModelCallGetInput, ModelCallOutput } from './records/model-recording.dto.js';
import { ModelRecordings, type RecordedCall } from './records/model-recordings.js';
import { RunReader } from './records/run-reader.js';

@Injectable()
export class ModelCallTools {
  constructor(
    private readonly runs: RunReader,
    private readonly recordings: ModelRecordings,
  ) {}

  @ManagementTool({
    name: 'RUN_MODEL_CALL_GET',
    description:
      'Reads what was sent to a model and answered in one call of a run, if the organization recorded it ' +
      '(model_recording of ORGANIZATION_UPDATE). Needs COLLECTION_THREAD_MESSAGES_LIST, too.',
    input: ModelCallGetInput,
    output: ModelCallOutput,
    annotations: READ_ONLY,
    permissions: ['RUN_MODEL_CALL_GET', 'COLLECTION_THREAD_MESSAGES_LIST'],
    isSealed: true,
  })
  async get({ id, number }: ModelCallGetInput, caller: Principal, answer: HeldAnswer): Promise<ModelCallOutput> {
    const call = await this.runs.findModelCall(caller, id, number);
    const [setting, json] = await Promise.all([
      this.recordings.readSetting(caller.organization.id),
      this.recordings.findJson(call),
    ]);
    if (json === undefined) return { setting, item: null };
    answer.reserve(Buffer.byteLength(json) * HELD_PER_JSON_BYTE);
    return { setting, item: JSON.parse(json) as RecordedCall };
  }
}
