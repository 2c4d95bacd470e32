import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { allows, SELF } from '../../../core/permissions.js';
import type { Principal } from '../../../core/principal.js';
import { LAST_REQUEST_ORDINAL, MESSAGE_BYTES } from '../../threads/message.entity.js';

/** How much of a question a run shows, in characters. */
const MAX_LENGTH = 500;
/** How much is read for the questions of a page, as JSON text. No message uses more than its share. */
const MAX_BYTES = 8_388_608;

const QUESTIONS = `
  SELECT run.id, (
    SELECT left(part.value ->> 'text', ${MAX_LENGTH})
      FROM messages message, json_array_elements(message.parts) WITH ORDINALITY AS part (value, place)
     WHERE message.organization_id = run.organization_id AND message.thread_id = run.thread_id
       AND message.run_position = coalesce(run.question_position, run.position)
       AND message.ordinal <= ${LAST_REQUEST_ORDINAL} AND message.role = 'user' AND ${MESSAGE_BYTES} <= $3
       AND part.value ->> 'type' = 'text'
     ORDER BY message.ordinal, part.place LIMIT 1) AS question
    FROM runs run WHERE run.organization_id = $1 AND run.id = ANY($2::uuid[])`;

/** Finds what runs answer: the beginnings of the messages that people wrote. */
@Injectable()
export class RunQuestions {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * The questions of these runs by their ids, for a caller who may read messages; empty for anybody else. A run has none
   * if its message has no text, is no longer stored, or is too long for a page of so many runs.
   */
  async find({ organization, permissions }: Principal, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0 || !allows(permissions, SELF, 'COLLECTION_THREAD_MESSAGES_LIST')) return new Map();
    const rows = await this.dataSource.query<{ id: string; question: string | null }[]>(QUESTIONS, [
      organization.id,
      ids,
      Math.floor(MAX_BYTES / ids.length),
    ]);
    return new Map(rows.flatMap(({ id, question }) => (question === null ? [] : [[id, question]])));
  }
}
