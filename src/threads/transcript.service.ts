import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { UIMessage } from 'ai';
import { Repository } from 'typeorm';
import type { ListSpec } from '../common/paging/list-spec.js';
import { paginate } from '../common/paging/paginate.js';
import { MessageEntity } from './message.entity.js';
import { PreparedStatements } from './prepared-statements.js';
import type { RunEntity } from './run.entity.js';
import type { MessageItem, MessagePage, ThreadMessagesInput } from './thread.dto.js';

/** More than any model's context holds; it only bounds memory. */
const MAX_HISTORY_MESSAGES = 1000;

const HISTORY = {
  name: 'transcript_history',
  text: `
    SELECT id, role, parts, metadata, run_id AS "runId" FROM messages
     WHERE organization_id = $1 AND thread_id = $2 AND run_position <= $3
     ORDER BY run_position DESC, ordinal DESC LIMIT $4`,
};

/** A message as the agent loop reads it. */
export type TranscriptMessage = UIMessage & { runId: string };

/** Reads the durable transcript: the messages of a thread in the order of the runs that brought or wrote them. */
@Injectable()
export class TranscriptService {
  constructor(
    @InjectRepository(MessageEntity) private readonly messages: Repository<MessageEntity>,
    private readonly statements: PreparedStatements,
  ) {}

  async list(organizationId: string, input: ThreadMessagesInput): Promise<MessagePage> {
    const { thread_id: threadId, limit, cursor, offset, order = 'asc' } = input;
    const query = this.messages
      .createQueryBuilder('message')
      .where('message.organizationId = :organizationId AND message.threadId = :threadId', { organizationId, threadId });
    const orderBy = [
      { field: ['run_position'], direction: order },
      { field: ['ordinal'], direction: order },
    ];
    const page = await paginate(query, messageList(threadId), { limit, cursor, offset, orderBy });
    return { ...page, items: page.items.map(toItem) };
  }

  /** The stored parts of a run's answer; none if nothing is stored yet. */
  async findAnswer({ organizationId, threadId, messageId }: RunEntity): Promise<UIMessage['parts']> {
    const message = await this.messages.findOneBy({ organizationId, threadId, id: messageId });
    return message?.parts ?? [];
  }

  /** The conversation up to and including the messages of this run's request, oldest first; answers of earlier runs included. */
  async readHistory(run: RunEntity): Promise<TranscriptMessage[]> {
    const { organizationId, threadId, position } = run;
    const values = [organizationId, threadId, position, MAX_HISTORY_MESSAGES];
    return (await this.statements.rows<TranscriptMessage>(HISTORY, values)).toReversed();
  }
}

function messageList(threadId: string): ListSpec {
  return {
    name: `messages:${threadId}`,
    fields: {
      run_position: { column: 'message.runPosition', type: 'number' },
      ordinal: { column: 'message.ordinal', type: 'number' },
    },
    defaultOrder: [{ field: 'run_position', direction: 'asc' }],
    tieBreaker: 'ordinal',
  };
}

function toItem(message: MessageEntity): MessageItem {
  return {
    id: message.id,
    thread_id: message.threadId,
    role: message.role,
    parts: message.parts,
    metadata: message.metadata,
    created_at: message.createdAt.toISOString(),
    updated_at: message.updatedAt.toISOString(),
  };
}
