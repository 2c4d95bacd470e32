import { Injectable } from '@nestjs/common';
import { RunEvents } from '../events/run-events.js';
import { RunReaderService } from '../threads/run-reader.service.js';

/** A worker ends the stream right after the run; this long after it, nothing more will come. */
const GRACE_MS = 10_000;

/** Recognizes the rare stream that will never end by itself: its worker died between the run's end and the stream's. */
@Injectable()
export class LostStreamService {
  constructor(
    private readonly runs: RunReaderService,
    private readonly events: RunEvents,
  ) {}

  async isLost(organizationId: string, runId: string): Promise<boolean> {
    const run = await this.runs.find(organizationId, runId);
    if (run === null) return true;
    if (run.finishedAt === null || Date.now() - run.finishedAt.getTime() <= GRACE_MS) return false;
    return !(await this.events.hasEnded(runId));
  }
}
