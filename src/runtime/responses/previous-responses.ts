import { Injectable } from '@nestjs/common';
import { AnswerBudget, withAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader } from '../runs/records/run-reader.js';
import { ThreadCopying } from '../threads/thread-copying.js';
import { TranscriptService } from '../threads/transcript.service.js';
import { factsOf } from './response-ids.js';
import { requireOver, ResponseReader, unknownResponse } from './response-reader.js';

const PATH = 'previous_response_id';

/** The response that a request continues, and its place in its thread. */
interface PreviousResponse {
  readonly run: RunEntity;
  /** The run or the approval in its id. */
  readonly uuid: string;
  /** The thread has gone on after it. */
  readonly isFollowed: boolean;
  /** The run that was posted to the thread last. */
  readonly lastRunId: string;
  /** The last message that belongs to it. */
  readonly lastMessageId: string;
}

/** Finds the responses that requests continue. */
@Injectable()
export class PreviousResponses {
  constructor(
    private readonly reader: ResponseReader,
    private readonly runs: RunReader,
    private readonly transcript: TranscriptService,
    private readonly copying: ThreadCopying,
    private readonly budget: AnswerBudget,
  ) {}

  /**
   * @param isNamed the request names it, and not only items of its run
   * @throws DomainError `run_not_found`, also for one that was deleted or is not stored; `permission_denied`;
   *   `thread_busy` until it is over; `conflict` if the request names one after which its run has answered on
   */
  async find(caller: Principal, id: string, isNamed: boolean): Promise<PreviousResponse> {
    const found = await this.reader.find(caller, id, PATH);
    const { run, begunBy } = found;
    return withAnswer(this.budget, caller, async (answer) => {
      const question = await this.reader.requireQuestion(run, answer, PATH);
      if (question.some(({ id: messageId }) => factsOf(messageId)?.mode === 'transient')) throw unknownResponse(PATH);
      requireOver(found, PATH);
      if (isNamed) await this.reader.requireLast(found, answer, PATH);
      const hasAnswer = (await this.transcript.findAnswerItem(run, answer)) !== null;
      // Read first: a run that is posted after it makes the response a followed one, or overtakes the new one.
      const lastRunId = (await this.runs.findLastId(run.organizationId, run.threadId)) ?? run.id;
      return {
        run,
        uuid: begunBy ?? run.id,
        isFollowed: await this.transcript.isFollowed(run),
        lastRunId,
        lastMessageId: hasAnswer ? run.messageId : (question.at(-1)?.id ?? run.messageId),
      };
    });
  }

  /** The run of a response. @throws DomainError `run_not_found`, `permission_denied` */
  async runOf(caller: Principal, id: string): Promise<string> {
    return (await this.reader.find(caller, id, PATH)).run.id;
  }

  /** Copies the thread up to the response. @param newId the id of the copy */
  async copy({ run, lastMessageId }: PreviousResponse, newId: string, caller: Principal): Promise<void> {
    await this.copying.copy({ id: run.threadId, new_id: newId, until_message_id: lastMessageId }, caller);
  }
}
