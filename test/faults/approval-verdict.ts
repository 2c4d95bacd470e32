import type { AuditEventPage } from '../../src/audit/events/audit-event.dto.js';
import type { MessageItem } from '../../src/runtime/threads/thread.dto.js';
import { type Approval, Approver } from './approver.js';
import { GATED_TOOL } from './backstage.js';
import type { Caller } from './caller.js';
import type { Conversation } from './conversation.js';
import { count, type Verdict } from './tally.js';

interface StoredCall {
  readonly toolName?: string;
  readonly state?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean };
}

/**
 * Checks each approval of a thread: one answer counts, for callers, the transcript and the record of events alike; the
 * tool was called at most once, and only if that answer is yes.
 * @param payments how often the tool was called, by run
 */
export async function judgeApprovals(
  verdict: Verdict,
  caller: Caller,
  { threadId, accepted, approvals }: Conversation,
  items: readonly MessageItem[],
  payments: ReadonlyMap<string, number>,
): Promise<void> {
  const approver = new Approver(caller, threadId);
  for (const { taskId, plan } of accepted) {
    const calls = payments.get(plan.run) ?? 0;
    if (calls > 1) count(verdict, 'paidTwice', `${plan.run} (${taskId}) paid ${calls} times`);
    const approval = approvals.find((one) => one.taskId === taskId);
    if (approval === undefined) {
      if (calls > 0) count(verdict, 'paidUnapproved', `${plan.run} (${taskId}) paid, and nobody has approved it`);
      continue;
    }
    const { approvalId, answers } = approval;
    const counted = answers.filter(({ response }) => response.status === 202);
    const approved = counted[0]?.approved === true;
    verdict.counts[approved ? 'approved' : 'denied']++;
    if (answers.length > 1) verdict.counts.contested++;
    if (counted.length !== 1) {
      const seen = answers.map(({ approved: yes, response }) => `${yes}: ${response.status}`).join(', ');
      count(verdict, 'notAnsweredOnce', `The approval ${approvalId} was answered ${seen}`);
    }
    const answer = items.find(({ role, metadata }) => role === 'assistant' && metadata['taskId'] === taskId);
    const stored = ((answer?.parts ?? []) as StoredCall[]).filter(({ toolName }) => toolName === GATED_TOOL);
    const isStored = stored.length === 1 && stored[0]?.approval?.id === approvalId;
    if (!isStored || stored[0]?.approval?.approved !== approved) {
      count(verdict, 'notAnsweredOnce', `${approvalId} is ${approved}, and stored as ${JSON.stringify(stored)}`);
    }
    if (!approved && calls > 0) count(verdict, 'paidUnapproved', `${plan.run} (${taskId}) paid, and was denied`);
    const isPaid = stored[0]?.state === 'output-available';
    if (isPaid && calls === 0) count(verdict, 'paidUnknown', `${plan.run} says it has paid, and never called the tool`);
    if (approved && !isPaid) verdict.counts.paymentsUnknown++;
    await judgeRecord(verdict, caller, approver, approval, approved);
  }
}

/** The answer that counts is on record once; it can be repeated, and contradicted by nobody. */
async function judgeRecord(
  verdict: Verdict,
  caller: Caller,
  approver: Approver,
  { approvalId }: Approval,
  approved: boolean,
): Promise<void> {
  const conditions = [
    { field: ['event'], operator: 'eq', value: 'approval.answered' },
    { field: ['target_id'], operator: 'eq', value: approvalId },
  ];
  const where = { operator: 'and', conditions };
  const { items } = await caller.tool<AuditEventPage>('AUDIT_EVENTS_LIST', { where });
  if (items.length !== 1) {
    count(verdict, 'notAnsweredOnce', `The answer of ${approvalId} is on record ${items.length} times`);
  }
  const [again, other] = [await approver.give(approvalId, approved), await approver.give(approvalId, !approved)];
  const { code, approved: recorded } = other.body as { code?: string; approved?: boolean };
  if (again.status !== 202 || other.status !== 409 || code !== 'approval_closed' || recorded !== approved) {
    const seen = JSON.stringify([again, other]);
    count(verdict, 'notAnsweredOnce', `${approvalId} is ${approved}, and answered later with ${seen}`);
  }
}
