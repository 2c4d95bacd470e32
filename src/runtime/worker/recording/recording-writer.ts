import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { throughOutage } from '../../../core/retry.js';
import { endsWithin } from '../../../core/with-timeout.js';
import { ModelRecordings, type SealedRecording } from '../../runs/records/model-recordings.js';

/** What waits for the database at most, in characters of envelopes. Beyond it, calls are not recorded. */
const MAX_WAITING = 64 * 1024 * 1024;
/** What one statement stores at most, unless a single recording is larger. */
const MAX_BATCH = 4 * 1024 * 1024;
const FLUSH_WITHIN_MS = 5_000;

/**
 * Writes recordings of model calls in batches, one statement at a time, without any run waiting for it. Recordings are
 * kept while the database is away for up to 30 s; after that, and when too many wait, they are lost, and the log says
 * so. A lost recording fails no run.
 */
@Injectable()
export class RecordingWriter implements OnApplicationShutdown {
  private readonly logger = new Logger(RecordingWriter.name);
  /** What is not stored yet, with what is being written. */
  private readonly waiting: SealedRecording[] = [];
  private waitingLength = 0;
  private writing: Promise<void> | undefined;

  constructor(private readonly recordings: ModelRecordings) {}

  /** @param contentOf makes the content; undefined if there is nothing to record */
  write(of: Omit<SealedRecording, 'id' | 'content'>, contentOf: () => string | undefined): void {
    try {
      const content = contentOf();
      if (content === undefined) return;
      const sealed = this.recordings.seal(of, content);
      if (this.waitingLength + sealed.content.length > MAX_WAITING) {
        this.noteLost(1, 'too many wait for the database');
        return;
      }
      this.waiting.push(sealed);
      this.waitingLength += sealed.content.length;
      this.writing ??= this.writeAll();
    } catch (error) {
      // Content of providers and upstreams is not validated; whatever it is, the run goes on.
      this.noteLost(1, (error as Error).name);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.writing === undefined) return;
    if (!(await endsWithin(this.writing, FLUSH_WITHIN_MS))) this.noteLost(this.waiting.length, 'shutdown');
  }

  private async writeAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.nextBatch();
      await throughOutage(() => this.recordings.store(batch)).catch((error: Error) => {
        this.noteLost(batch.length, error.name);
      });
      this.waiting.splice(0, batch.length);
      for (const { content } of batch) this.waitingLength -= content.length;
    }
    this.writing = undefined;
  }

  private nextBatch(): SealedRecording[] {
    let length = 0;
    const rest = this.waiting.findIndex(({ content }, index) => {
      length += content.length;
      return index > 0 && length > MAX_BATCH;
    });
    return this.waiting.slice(0, rest === -1 ? this.waiting.length : rest);
  }

  /** The error's message could quote content. */
  private noteLost(count: number, reason: string): void {
    this.logger.warn({ recordings: count, reason }, 'Recordings of model calls were lost');
  }
}
