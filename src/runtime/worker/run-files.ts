import type { FileUIPart } from 'ai';
import { DomainError } from '../../core/domain-error.js';
import { throughOutage } from '../../core/through-outage.js';
import type { AnswerFiles, MadeFile } from '../files/answer-files.js';
import type { ConversationMessage, FilledConversation, ModelFiles } from '../files/model-files.js';
import type { ClaimedRun } from '../runs/records/new-run.js';

/** A stored file, or a sentence that says why it was not stored. */
export type StoredFile = { part: FileUIPart; size: number } | { refusal: string };

/** The files of one run: those that its model gets, and those that come up in its answer. */
export class RunFiles {
  constructor(
    private readonly run: ClaimedRun,
    private readonly ofModel: ModelFiles,
    private readonly ofAnswer: AnswerFiles,
  ) {}

  /**
   * The conversation with its files, for one request; release it when the request has ended.
   * @param takes whether the model takes files of a media type
   * @throws DomainError `file_unsupported`, or the reason of the signal
   */
  open(
    messages: readonly ConversationMessage[],
    takes: (mediaType: string) => boolean,
    signal: AbortSignal,
  ): Promise<FilledConversation> {
    const { organizationId } = this.run;
    return throughOutage(() => this.ofModel.withFiles(organizationId, messages, takes, signal), signal);
  }

  /**
   * Stores a file that the answer then names. Its message must be stored already.
   * @throws StorageLostError
   */
  async store(file: MadeFile): Promise<StoredFile> {
    try {
      return await throughOutage(() => this.ofAnswer.store(file, this.run));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { mediaType, bytes } = file;
      return { refusal: `[A file (${mediaType}, ${bytes.length} bytes) was left out. ${error.detail ?? error.title}]` };
    }
  }
}
