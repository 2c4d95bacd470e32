import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { UIMessage } from 'ai';
import { type EntityManager, IsNull, MoreThan, Repository } from 'typeorm';
import { HELD_PER_JSON_BYTE, type HeldAnswer } from '../../core/answers/answer-budget.js';
import type { ListSpec } from '../../core/paging/list-spec.js';
import { DEFAULT_LIMIT } from '../../core/paging/list-input.js';
import { type Page, paginate } from '../../core/paging/paginate.js';
import { LAST_REQUEST_ORDINAL, MESSAGE_BYTES, MessageEntity } from './message.entity.js';
import { LongReads } from '../../platform/database/long-reads.js';
import { PreparedStatements } from '../../platform/database/prepared-statements.js';
import { HISTORY, type HistoryRow, NEWEST, type NewestRow, wholeTurns } from './history-query.js';
import type { MessageItem, MessagePage, ThreadMessagesInput } from './thread.dto.js';

/**
 * A message in the form that the agent loop reads; `isRequest` for those that the run answers. See `HISTORY` for which
 * of them have metadata.
 */
export type TranscriptMessage = UIMessage & { isRequest: boolean };

/**
 * The fields of a run that the transcript needs: its agent, its place in the thread and the message with its answer.
 */
export interface TranscriptRun {
  readonly organizationId: string;
  readonly threadId: string;
  readonly agentId: string;
  readonly position: number;
  /** The position of the question that the run answers again; null for a run with a question of its own. */
  readonly questionPosition: number | null;
  readonly messageId: string;
}

/** What tells an attempt of a run from all others. */
export interface RunAttempt {
  readonly id: string;
  readonly attempt: number;
  readonly epoch: string;
}

/** The fields of a message that callers see. */
type MessageFields = Pick<
  MessageEntity,
  'id' | 'threadId' | 'role' | 'parts' | 'metadata' | 'supersededBy' | 'createdAt' | 'updatedAt'
>;

const BY_KEY = 'FROM messages AS message WHERE organization_id = $1 AND thread_id = $2 AND id = $3';

const SIZE_OF_MESSAGE = { name: 'message_size', text: `SELECT ${MESSAGE_BYTES} AS bytes ${BY_KEY}` };

const MESSAGE = {
  name: 'message',
  text: `
    SELECT id, thread_id AS "threadId", role, parts, metadata, superseded_by AS "supersededBy",
           created_at AS "createdAt", updated_at AS "updatedAt" ${BY_KEY}`,
};

/** Reads the durable transcript: the messages of a thread in the order of the runs that received or wrote them. */
@Injectable()
export class TranscriptService {
  constructor(
    @InjectRepository(MessageEntity) private readonly messages: Repository<MessageEntity>,
    private readonly statements: PreparedStatements,
    private readonly reads: LongReads,
  ) {}

  async list(organizationId: string, input: ThreadMessagesInput, answer: HeldAnswer): Promise<MessagePage> {
    const { thread_id: threadId, limit, cursor, offset, order = 'asc', include_superseded: isWhole = false } = input;
    const orderBy = [
      { field: ['run_position'], direction: order },
      { field: ['ordinal'], direction: order },
    ];
    const readPage = (manager: EntityManager): Promise<Page<MessageEntity>> => {
      const query = manager
        .createQueryBuilder(MessageEntity, 'message')
        .where('message.organizationId = :organizationId AND message.threadId = :threadId', {
          organizationId,
          threadId,
        });
      if (!isWhole) query.andWhere('message.supersededBy IS NULL');
      return paginate(query, messageList(threadId, isWhole), { limit, cursor, offset, orderBy }, answer);
    };
    // A page is measured before it is read: each message of many costs its whole size.
    const isLong = (limit ?? DEFAULT_LIMIT) > DEFAULT_LIMIT;
    const page = await (isLong
      ? this.reads.read(organizationId, answer.callerLeft, readPage, 'page')
      : readPage(this.messages.manager));
    return { ...page, items: page.items.map(toItem) };
  }

  /**
   * The stored part of a run's answer as callers see it; null if nothing is stored yet.
   * @throws DomainError `answer_memory_exhausted`
   */
  async findAnswerItem(
    { organizationId, threadId, messageId: id }: Pick<TranscriptRun, 'organizationId' | 'threadId' | 'messageId'>,
    answer: HeldAnswer,
  ): Promise<MessageItem | null> {
    const key = [organizationId, threadId, id];
    const [size] = await this.statements.rowsByKey<{ bytes: number }>(SIZE_OF_MESSAGE, key);
    if (size === undefined) return null;
    answer.reserve(size.bytes * HELD_PER_JSON_BYTE);
    const [message] = await this.statements.rows<MessageFields>(MESSAGE, key);
    return message === undefined ? null : toItem(message);
  }

  /**
   * The messages that a run answers, in their order, as callers see them; empty if they are no longer stored.
   * @throws DomainError `answer_memory_exhausted`
   */
  async findRequestItems(
    {
      organizationId,
      threadId,
      position,
      questionPosition,
    }: Pick<TranscriptRun, 'organizationId' | 'threadId' | 'position' | 'questionPosition'>,
    answer: HeldAnswer,
  ): Promise<MessageItem[]> {
    const query = this.messages
      .createQueryBuilder('message')
      .where({ organizationId, threadId, runPosition: questionPosition ?? position })
      .andWhere('message.ordinal <= :last', { last: LAST_REQUEST_ORDINAL });
    const size = await query.clone().select(`sum(${MESSAGE_BYTES})`, 'bytes').getRawOne<{ bytes: string | null }>();
    answer.reserve(Number(size?.bytes ?? 0) * HELD_PER_JSON_BYTE);
    return (await query.orderBy('message.ordinal').getMany()).map(toItem);
  }

  /**
   * The last questions and answers of a thread, oldest first, without superseded ones.
   * @param place.upTo the position of the last run that counts
   * @throws DomainError `answer_memory_exhausted`
   */
  async findTail(
    place: { organizationId: string; threadId: string; upTo?: number | undefined; count: number },
    answer: HeldAnswer,
  ): Promise<MessageItem[]> {
    const { organizationId, threadId, upTo, count } = place;
    const query = this.messages
      .createQueryBuilder('message')
      .where({ organizationId, threadId, supersededBy: IsNull() })
      .andWhere(`message.role <> 'system'`)
      .orderBy({ 'message.runPosition': 'DESC', 'message.ordinal': 'DESC' })
      .limit(count);
    if (upTo !== undefined) query.andWhere('message.runPosition <= :upTo', { upTo });
    const sizes = await query.clone().select(MESSAGE_BYTES, 'bytes').getRawMany<{ bytes: string }>();
    answer.reserve(sizes.reduce((sum, { bytes }) => sum + Number(bytes), 0) * HELD_PER_JSON_BYTE);
    return (await query.getMany()).toReversed().map(toItem);
  }

  /** Whether a thread has gone on after the answer of a run. */
  async isFollowed({
    organizationId,
    threadId,
    position,
  }: Pick<TranscriptRun, 'organizationId' | 'threadId' | 'position'>): Promise<boolean> {
    const later = { organizationId, threadId, supersededBy: IsNull(), runPosition: MoreThan(position) };
    return (await this.messages.findOne({ select: { id: true }, where: later })) !== null;
  }

  /** The stored part of a run's answer; null if nothing is stored yet. */
  findAnswer({
    organizationId,
    threadId,
    messageId,
  }: Pick<TranscriptRun, 'organizationId' | 'threadId' | 'messageId'>): Promise<Pick<
    UIMessage,
    'parts' | 'metadata'
  > | null> {
    return this.messages.findOneBy({ organizationId, threadId, id: messageId });
  }

  /**
   * The rows of `HISTORY`, newest first.
   * @param maxBytes of JSON text
   */
  readHistoryRows(run: TranscriptRun, maxBytes: number): Promise<HistoryRow[]> {
    return this.statements.rows<HistoryRow>(HISTORY, [...historyValues(run), maxBytes]);
  }

  /**
   * The rows of `NEWEST`, newest first.
   * @param after the position of the run up to which the history is known, and `ended` the attempt that has ended it
   */
  readNewestRows(run: TranscriptRun, after: string, ended: RunAttempt): Promise<NewestRow[]> {
    const { id, attempt, epoch } = ended;
    return this.statements.rowsByKey<NewestRow>(NEWEST, [...historyValues(run), after, id, attempt, epoch]);
  }
}

function historyValues({ organizationId, threadId, agentId, messageId, ...run }: TranscriptRun): unknown[] {
  return [organizationId, threadId, positionOfRequest(run), messageId, agentId];
}

/** The position of the messages that a run answers. */
export function positionOfRequest(run: Pick<TranscriptRun, 'position' | 'questionPosition'>): string {
  return String(run.questionPosition ?? run.position);
}

/** The conversation of a run, oldest first. @param newestFirst the messages with those that do not fit */
export function conversationOf(
  run: Pick<TranscriptRun, 'position' | 'questionPosition'>,
  newestFirst: readonly HistoryRow[],
): TranscriptMessage[] {
  const request = positionOfRequest(run);
  return wholeTurns(newestFirst).map(({ id, role, parts, metadata, asks, position }) => ({
    id,
    role,
    parts: parts as UIMessage['parts'],
    metadata,
    isRequest: asks && position === request,
  }));
}

function messageList(threadId: string, isWhole: boolean): ListSpec {
  return {
    name: `messages:${threadId}${isWhole ? ':whole' : ''}`,
    fields: {
      run_position: { column: 'message.runPosition', type: 'integer' },
      ordinal: { column: 'message.ordinal', type: 'integer' },
    },
    defaultOrder: [{ field: 'run_position', direction: 'asc' }],
    rowBytes: MESSAGE_BYTES,
    tieBreaker: 'ordinal',
  };
}

function toItem(message: MessageFields): MessageItem {
  return {
    id: message.id,
    thread_id: message.threadId,
    role: message.role,
    parts: message.parts,
    metadata:
      message.supersededBy === null ? message.metadata : { ...message.metadata, superseded_by: message.supersededBy },
    created_at: message.createdAt.toISOString(),
    updated_at: message.updatedAt.toISOString(),
  };
}
