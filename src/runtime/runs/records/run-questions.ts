import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { allows, SELF } from '../../../core/permissions.js';
import type { Principal } from '../../../core/principal.js';
import { LAST_REQUEST_ORDINAL } from '../../threads/message.entity.js';

/** How much of a question a run shows, in characters. */
const MAX_LENGTH = 500;
/** Longer messages are not read for it, as JSON text: a page has many. */
const MAX_BYTES = 65_536;

const QUESTIONS = `
  SELECT run.id, (
    SELECT left(part.value ->> 'text', ${MAX_LENGTH})
      FROM messages message, json_array_elements(message.parts) WITH ORDINALITY AS part (value, place)
     WHERE message.organization_id = run.organization_id AND message.thread_id = run.thread_id
       AND message.run_position = coalesce(run.question_position, run.position)
       AND message.ordinal <= ${LAST_REQUEST_ORDINAL} AND message.role = 'user' AND message.bytes <= $3
       AND part.value ->> 'type' = 'text'
     ORDER BY message.ordinal, part.place LIMIT 1) AS question
    FROM runs run WHERE run.organization_id = $1 AND run.id = ANY($2::uuid[])`;

/** Finds what runs answer: the beginnings of the messages that people wrote. */
@Injectable()
export class RunQuestions {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * The questions of these runs by their ids, for a caller who may read messages; empty for anybody else. A run has none
   * if its message has no text, more than `MAX_BYTES`, or is no longer stored.
   */
  async find({ organization, permissions }: Principal, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0 || !allows(permissions, SELF, 'COLLECTION_THREAD_MESSAGES_LIST')) return new Map();
    const rows = await this.dataSource.query<{ id: string; question: string | null }[]>(QUESTIONS, [
      organization.id,
      ids,
      MAX_BYTES,
    ]);
    return new Map(rows.flatMap(({ id, question }) => (question === null ? [] : [[id, question]])));
  }
}
