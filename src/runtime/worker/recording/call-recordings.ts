import type { ModelPrice } from '../../../agents/models/model-price.js';
import type { ClaimedRun } from '../../runs/records/new-run.js';
import type { RecordedCall } from '../../runs/records/recorded-call.js';
import { CallRecorder } from './call-recorder.js';
import type { RecordingWriter } from './recording-writer.js';

/** Records the model calls of one attempt. */
export class CallRecordings {
  constructor(
    private readonly run: Pick<ClaimedRun, 'id' | 'organizationId' | 'attempt'>,
    private readonly recording: RecordedCall['recording'],
    private readonly writer: RecordingWriter,
  ) {}

  begin(price: ModelPrice | null): CallRecorder {
    return new CallRecorder(this.run.organizationId, this.recording, price);
  }

  /**
   * Stores what a call has sent and received, soon.
   * @param ordinal its place among the calls of the attempt, from 1
   */
  store(ordinal: number, recorder: CallRecorder, errorCode: string | null): void {
    const { id: runId, attempt } = this.run;
    this.writer.write({ runId, attempt, ordinal, recording: this.recording }, () => recorder.toJson(errorCode));
  }
}
