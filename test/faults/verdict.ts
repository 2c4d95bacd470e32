import { isDeepStrictEqual } from 'node:util';
import type { RunItem } from '../../src/runtime/runs/records/run.dto.js';
import type { MessageItem } from '../../src/runtime/threads/thread.dto.js';
import { fold } from '../support/fold-message.js';
import { judgeApprovals } from './approval-verdict.js';
import type { Backstage } from './backstage.js';
import type { Caller } from './caller.js';
import type { Conversation } from './conversation.js';
import { count, newVerdict, type Verdict } from './tally.js';

/**
 * Compares what the clients of a trial saw with what the service has stored.
 * @param calls how often the tools were called, by run
 * @param options.mayExpire the live buffer lost everything, so that a finished run can have no stream
 */
export async function judge(
  caller: Caller,
  conversations: readonly Conversation[],
  calls: Pick<Backstage, 'bookings' | 'payments'>,
  { mayExpire }: { mayExpire: boolean },
): Promise<Verdict> {
  const verdict = newVerdict(conversations.flatMap(({ faults }) => faults));
  for (const conversation of conversations) {
    const { threadId: id } = conversation;
    const { item: thread } = await caller.tool<{ item: { status: string } }>('COLLECTION_THREADS_GET', { id });
    if (thread.status === 'in_progress') count(verdict, 'inProgress', `The thread ${id} is still in progress.`);
    const list = { thread_id: id, limit: 1000 };
    const { items } = await caller.tool<{ items: MessageItem[] }>('COLLECTION_THREAD_MESSAGES_LIST', list);
    judgeTranscript(verdict, conversation, items);
    for (const { taskId, plan } of conversation.accepted) {
      const { item: run } = await caller.tool<{ item: RunItem }>('RUN_GET', { id: taskId });
      // After an approval, a run continues in another attempt.
      if (run.attempt > (plan.payment === undefined ? 1 : 2)) verdict.counts.repeatedAttempts++;
      if (run.status === 'completed') verdict.counts.answered++;
      else count(verdict, 'unanswered', `The run ${taskId} is ${run.status}: ${JSON.stringify(run.error)}`);
      const { length: pending } = run.pending_approvals;
      if (pending > 0) count(verdict, 'waiting', `The run ${taskId} waits for ${pending} approvals.`);
    }
    judgeBookings(verdict, conversation, items, calls.bookings);
    await judgeApprovals(verdict, caller, conversation, items, calls.payments);
    await judgeReadings(verdict, conversation, items);
  }
  const { expiredReaders } = verdict.counts;
  if (expiredReaders > 0 && !mayExpire) {
    verdict.faults.push(`${expiredReaders} readers were answered 410, although nothing was lost`);
  }
  return verdict;
}

function judgeTranscript(
  verdict: Verdict,
  { threadId, accepted, repeatedPosts }: Conversation,
  items: MessageItem[],
): void {
  verdict.counts.accepted += accepted.length;
  verdict.counts.repeatedPosts += repeatedPosts;
  verdict.counts.messages += items.length;
  const expected = accepted.flatMap(({ taskId, text }) => [`user ${text}`, `assistant ${taskId}`]);
  const stored = items.map(({ role, parts, metadata }) =>
    role === 'user' ? `user ${(parts as { text: string }[])[0]?.text}` : `${role} ${String(metadata['taskId'])}`,
  );
  const [missing, surplus] = [without(expected, stored), without(stored, expected)];
  for (const message of missing) count(verdict, 'lost', `${threadId} has lost ${message}`);
  for (const message of surplus) count(verdict, 'double', `${threadId} has one ${message} too many`);
  const isAnswer = (message: string): boolean => message.startsWith('assistant');
  if (missing.length + surplus.length > 0) return;
  for (const part of [isAnswer, (message: string) => !isAnswer(message)]) {
    // As text: under Jest, the arrays have the prototypes of two realms.
    if (JSON.stringify(stored.filter(part)) !== JSON.stringify(expected.filter(part))) {
      count(verdict, 'disordered', `${threadId} has its messages in another order than they were accepted`);
    }
  }
}

/** The items of a list that another one lacks, each as often as it lacks it. */
function without(items: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return items.filter((item) => {
    const at = left.indexOf(item);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function judgeBookings(
  verdict: Verdict,
  { accepted }: Conversation,
  items: MessageItem[],
  bookings: ReadonlyMap<string, number>,
): void {
  for (const { taskId, plan } of accepted) {
    const calls = bookings.get(plan.run) ?? 0;
    if (calls > 0) verdict.counts.booked++;
    else verdict.counts.notBooked++;
    if (calls > 1) count(verdict, 'bookedTwice', `${plan.run} (${taskId}) was booked ${calls} times`);
    const answer = items.find(({ role, metadata }) => role === 'assistant' && metadata['taskId'] === taskId);
    const parts = (answer?.parts ?? []) as { type: string; toolName?: string; state?: string }[];
    const succeeded = parts.filter(({ toolName, state }) => toolName === 'book' && state === 'output-available').length;
    if (succeeded > calls) count(verdict, 'bookedUnknown', `${plan.run} says it is booked, and it was never called`);
  }
}

async function judgeReadings(verdict: Verdict, { readings }: Conversation, items: MessageItem[]): Promise<void> {
  for (const { taskId, reading } of readings) {
    const { chunks, connections, gaps, repeats, restarts, isWhole } = reading;
    verdict.counts.readers++;
    verdict.counts.connections += connections;
    verdict.counts.frames += chunks.length;
    verdict.counts.restarts += restarts;
    for (const gap of gaps) count(verdict, 'gaps', `A reader of ${taskId} received ${gap}`);
    for (const repeat of repeats) count(verdict, 'repeats', `A reader of ${taskId} received ${repeat} again`);
    if (!isWhole) {
      verdict.counts.expiredReaders++;
      continue;
    }
    const stored = items.find(({ role, metadata }) => role === 'assistant' && metadata['taskId'] === taskId);
    const { id, role, parts, metadata } = stored ?? {};
    const folded = await fold(chunks);
    verdict.counts.foldedStreams++;
    if (isDeepStrictEqual(folded, JSON.parse(JSON.stringify({ id, role, parts, metadata })))) continue;
    const [read, kept] = [JSON.stringify(folded), JSON.stringify({ id, role, parts, metadata })];
    count(verdict, 'differing', `${taskId} was read as ${read} and stored as ${kept}`);
  }
}
