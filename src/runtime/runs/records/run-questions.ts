import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Principal } from '../../../core/principal.js';
import { LAST_REQUEST_ORDINAL } from '../../threads/message.entity.js';
import { questionAmong, questionBytes } from '../../threads/message-question.js';
import { readsMessages } from '../../threads/message-search.js';

const ASKED = `message.organization_id = run.organization_id AND message.thread_id = run.thread_id
  AND message.run_position = coalesce(run.question_position, run.position) AND message.ordinal <= ${LAST_REQUEST_ORDINAL}`;

const QUESTIONS = `
  SELECT run.id, ${questionAmong(ASKED, '$3')} AS question
    FROM runs run WHERE run.organization_id = $1 AND run.id = ANY($2::uuid[])`;

/** Finds what runs answer: the beginnings of the messages that people wrote. */
@Injectable()
export class RunQuestions {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * The questions of these runs by their ids, for a caller who may read messages; empty for anybody else. A run has
   * none if its message has no text, is no longer stored, or is too long for a page of so many runs.
   */
  async find(caller: Principal, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0 || !readsMessages(caller)) return new Map();
    const rows = await this.dataSource.query<{ id: string; question: string | null }[]>(QUESTIONS, [
      caller.organization.id,
      ids,
      questionBytes(ids.length),
    ]);
    return new Map(rows.flatMap(({ id, question }) => (question === null ? [] : [[id, question]])));
  }
}
