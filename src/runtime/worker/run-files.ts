import type { FileUIPart } from 'ai';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError, throughOutage } from '../../core/retry.js';
import type { AnswerFiles, MadeFile } from '../files/answer-files.js';
import type { ConversationMessage, FilledConversation, ModelFiles } from '../files/model-files.js';
import type { Takes } from '../files/model-parts.js';
import type { ClaimedRun } from '../runs/records/new-run.js';

/** How long no further file is stored once the storage was away for longer than a run waits. */
const REFUSED_MS = 60_000;

/** A stored file, or a sentence that says why it was not stored. */
export type StoredFile = { part: FileUIPart; size: number } | { refusal: string };

/** The files of one run: those that its model gets, and those that come up in its answer. */
export class RunFiles {
  /** Until then the storage is taken to be away, in milliseconds of `performance.now()`. */
  private awayUntil = 0;

  constructor(
    private readonly run: ClaimedRun,
    private readonly ofModel: ModelFiles,
    private readonly ofAnswer: AnswerFiles,
  ) {}

  /**
   * The conversation with its files, for one request; release it when the request has ended.
   * @throws DomainError `file_unsupported`, or the reason of the signal
   */
  open(messages: readonly ConversationMessage[], takes: Takes, signal: AbortSignal): Promise<FilledConversation> {
    const { organizationId } = this.run;
    return throughOutage(() => this.ofModel.withFiles(organizationId, messages, takes, signal), signal);
  }

  /**
   * Stores a file that the answer then names. Its message must be stored already. A tool has done its work: whatever
   * keeps the file from being stored, the rest of the result counts.
   * @param signal of the run: when it ends, nothing more is stored
   */
  async store(file: MadeFile, signal: AbortSignal): Promise<StoredFile> {
    if (signal.aborted) return leftOut(file, 'The run was stopped.');
    if (performance.now() < this.awayUntil) return leftOut(file, 'The storage is unavailable.');
    try {
      return await throughOutage(() => this.ofAnswer.store(file, this.run, signal), signal);
    } catch (error) {
      if (signal.aborted) return leftOut(file, 'The run was stopped.');
      if (error instanceof DomainError) return leftOut(file, error.detail ?? error.title);
      if (!(error instanceof StorageLostError)) throw error;
      this.awayUntil = performance.now() + REFUSED_MS;
      return leftOut(file, error.message);
    }
  }
}

function leftOut({ mediaType, base64 }: MadeFile, why: string): StoredFile {
  return { refusal: `[A file (${mediaType}, ${Buffer.byteLength(base64, 'base64')} bytes) was left out. ${why}]` };
}
