import { Injectable } from '@nestjs/common';
import type { UIMessage } from 'ai';
import { AnswerBudget, withAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import type { MessageItem } from '../threads/thread.dto.js';
import { TranscriptService } from '../threads/transcript.service.js';
import { segmentsOf } from './output-items.js';
import { type EarlierItem, fault, textOf } from './response-input.js';

/** One side's text in a conversation, with everything that one side has said in a row. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** The place in a thread that a request continues. */
interface Place {
  readonly threadId: string;
  /** The last run that counts; undefined for the whole thread. */
  readonly upTo?: number | undefined;
}

/** Compares what callers send again of a conversation with its thread. */
@Injectable()
export class ConversationTail {
  constructor(
    private readonly transcript: TranscriptService,
    private readonly budget: AnswerBudget,
  ) {}

  /**
   * Checks that the items are the tail of the thread. Only their texts and their ids count; system messages do not.
   * @throws DomainError `input_mismatch`
   */
  async require(caller: Principal, { threadId, upTo }: Place, earlier: readonly EarlierItem[]): Promise<void> {
    if (earlier.length === 0) return;
    const place = { organizationId: caller.organization.id, threadId, upTo, count: earlier.length + 1 };
    await withAnswer(this.budget, caller, async (answer) => {
      compare(await this.transcript.findTail(place, answer), earlier);
    });
  }
}

function compare(messages: readonly MessageItem[], earlier: readonly EarlierItem[]): void {
  const items = messages.flatMap(itemsOf);
  const known = new Map(items.map((item) => [item.id, item.turn]));
  const sent = earlier.flatMap(({ path, id, message }): (Turn & { path: string })[] => {
    if (message !== undefined) return [{ path, ...message }];
    if (id === undefined || !known.has(id)) throw mismatch(path);
    const turn = known.get(id);
    return turn === undefined ? [] : [{ path, ...turn }];
  });
  const expected = joined(items.flatMap(({ turn }) => turn ?? []));
  const turns = joined(sent);
  for (const [index, { role, text, path }] of turns.entries()) {
    const stored = expected.at(index - turns.length);
    // The first turn can be the end of what was said in a row.
    const isSame = index === 0 && role === 'assistant' ? stored?.text.endsWith(text) : stored?.text === text;
    if (stored?.role !== role || isSame !== true) throw mismatch(path);
  }
}

function itemsOf({ id, role, parts, metadata }: MessageItem): { id: string; turn?: Turn }[] {
  if (role === 'user') return [{ id, turn: { role, text: textOf(parts as { type: string; text?: string }[]) } }];
  const run = { id: String(metadata['taskId']), agentId: '' };
  return segmentsOf(parts as UIMessage['parts'], run, { isAsking: true }).flatMap(({ items }) =>
    items.map((item) =>
      item.type === 'message'
        ? { id: item.id, turn: { role: 'assistant', text: item.content[0]?.text ?? '' } as const }
        : { id: item.id },
    ),
  );
}

/** What one side says in a row is one turn: callers send it as one text or as several. */
function joined<T extends Turn>(turns: readonly T[]): T[] {
  const result: T[] = [];
  for (const turn of turns) {
    const last = result.at(-1);
    if (last?.role === 'assistant' && turn.role === 'assistant')
      result[result.length - 1] = { ...last, text: last.text + turn.text };
    else result.push(turn);
  }
  return result;
}

function mismatch(path: string) {
  return fault(
    'input_mismatch',
    path,
    'This is not what the conversation has at this place. Send the new message only.',
  );
}
