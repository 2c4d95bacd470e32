import { approvalItem, type CallEnd, type CallFacts, callItem } from './output-items.js';
import { itemId, type ItemPlace } from './response-ids.js';
import type { ApprovalOutput, CallOutput, OutputItem } from './response-object.js';

interface StepCall {
  readonly place: ItemPlace;
  facts: CallFacts;
  /** How it has ended, or the request for its approval, until that is sent. */
  ready?: CallOutput | ApprovalOutput | undefined;
  /** Nothing more is sent of it: it is an item of the answer, or it was denied and is left out. */
  isSettled: boolean;
}

/**
 * The calls of one step. They become items in the order in which the model has made them, as in the response: one that
 * has ended before an earlier one is held back.
 */
export class StepCalls {
  private readonly calls = new Map<string, StepCall>();

  /** Of another step. */
  clear(): void {
    this.calls.clear();
  }

  /** A call that the model begins to make. @param nextPlace called if it is a new one */
  begin({ toolCallId, toolName }: { toolCallId: string; toolName: string }, nextPlace: () => ItemPlace): void {
    if (this.calls.has(toolCallId)) return;
    const facts = { toolName, input: {}, approvalId: null };
    this.calls.set(toolCallId, { facts, place: nextPlace(), isSettled: false });
  }

  takeInput(toolCallId: string, input: unknown): void {
    const call = this.calls.get(toolCallId);
    if (call !== undefined) call.facts = { ...call.facts, input };
  }

  /** A call is an item once it has ended: until then, it may be one that nobody has approved. */
  end(toolCallId: string, end: CallEnd, agentId: string): void {
    const call = this.calls.get(toolCallId);
    if (call !== undefined) call.ready = callItem(agentId, call.facts, end, call.place);
  }

  ask(toolCallId: string, approvalId: string, agentId: string): void {
    const call = this.calls.get(toolCallId);
    if (call === undefined) return;
    call.facts = { ...call.facts, approvalId };
    call.ready = approvalItem(agentId, { ...call.facts, approvalId });
  }

  /** The next answer begins, with the calls that were asked for. */
  beginAnswer(): void {
    for (const call of this.calls.values()) if (call.facts.approvalId !== null) call.isSettled = false;
  }

  /** A call that was denied is no item. */
  decide(approvalId: string, approved: boolean): void {
    for (const call of this.calls.values()) if (call.facts.approvalId === approvalId) call.isSettled = !approved;
  }

  /** Takes what can be sent: the items before the first call that has not ended. */
  *takeReady(): Iterable<CallOutput | ApprovalOutput> {
    for (const call of this.calls.values()) {
      if (call.isSettled) continue;
      if (call.ready === undefined) return;
      yield call.ready;
      call.ready = undefined;
      call.isSettled = true;
    }
  }

  /** Those of the items that are calls of the step, and were not sent because a call has not ended. */
  heldBackOf(items: readonly OutputItem[]): CallOutput[] {
    const open = [...this.calls.values()].filter(({ isSettled }) => !isSettled);
    const ids = new Set(open.map(({ place }) => itemId('mcp', place)));
    return items.filter((item) => item.type === 'mcp_call').filter(({ id }) => ids.has(id));
  }
}
