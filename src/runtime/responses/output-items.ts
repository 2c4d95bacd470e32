import type { CallToolResult } from '@modelcontextprotocol/client';
import type { DynamicToolUIPart, UIMessage } from 'ai';
import { isRecord } from '../../core/is-record.js';
import { approvalRequestId, itemId, type ItemPlace } from './response-ids.js';
import {
  type ApprovalOutput,
  type CallOutput,
  type MessageOutput,
  type OutputItem,
  outputText,
  type ReasoningOutput,
} from './response-object.js';

type Parts = UIMessage['parts'];

/** The run whose answer is read. */
interface AnsweredRun {
  readonly id: string;
  readonly agentId: string;
}

/**
 * One answer of a run. A step whose calls need approvals ends an answer; the next one begins with the calls that were
 * approved.
 */
export interface AnswerSegment {
  /** The first approval of the step before it; null for the first answer. */
  readonly begunBy: string | null;
  readonly items: readonly OutputItem[];
}

/** What a tool call was made with. */
interface CallFacts {
  readonly toolName: string;
  readonly input: unknown;
  readonly approvalId: string | null;
}

/** How a tool call has ended; undefined while it has not. */
export type CallEnd = { readonly output: unknown } | { readonly errorText: string } | undefined;

/**
 * The answers of a run, in their order, from its stored message. The last one can be empty.
 * @param isAsking the last step still waits for approvals
 * @param roundOf how often a reader has seen a step begin again; the ids of its items say so
 */
export function segmentsOf(
  parts: Parts,
  run: AnsweredRun,
  { isAsking, roundOf }: { isAsking: boolean; roundOf?: ((step: number) => number | undefined) | undefined },
): AnswerSegment[] {
  const segments: { begunBy: string | null; items: OutputItem[] }[] = [{ begunBy: null, items: [] }];
  const stepsOf = splitSteps(parts);
  for (const [at, step] of stepsOf.entries()) {
    const place = { runId: run.id, step: at + 1, round: roundOf?.(at + 1) };
    const asked = step.flatMap((part) => (part.type === 'dynamic-tool' && part.approval ? [part.approval.id] : []));
    const current = segments.at(-1) as (typeof segments)[number];
    const [first] = asked;
    const isLast = at === stepsOf.length - 1;
    const next =
      first === undefined || (isLast && isAsking) ? undefined : { begunBy: first, items: [] as OutputItem[] };
    for (const [index, part] of inOrder(step)) {
      if (part.type === 'dynamic-tool' && part.approval !== undefined) {
        current.items.push(approvalItem(run.agentId, { ...part, approvalId: part.approval.id }));
        if (part.state !== 'output-denied') next?.items.push(callOf(part, run, { ...place, index }));
      } else if (part.type === 'dynamic-tool') current.items.push(callOf(part, run, { ...place, index }));
      else if (part.type === 'reasoning')
        current.items.push(reasoningItem(part.text, statusOf(part), { ...place, index }));
      else if (part.type === 'text') current.items.push(messageItem(part.text, statusOf(part), { ...place, index }));
    }
    if (next !== undefined) segments.push(next);
  }
  return segments;
}

export function messageItem(text: string, status: MessageOutput['status'], place: ItemPlace): MessageOutput {
  return { type: 'message', id: itemId('msg', place), role: 'assistant', status, content: [outputText(text)] };
}

export function reasoningItem(text: string, status: ReasoningOutput['status'], place: ItemPlace): ReasoningOutput {
  return { type: 'reasoning', id: itemId('rs', place), status, summary: [{ type: 'summary_text', text }] };
}

function approvalItem(
  agentId: string,
  { toolName, input, approvalId }: CallFacts & { approvalId: string },
): ApprovalOutput {
  const id = approvalRequestId(approvalId);
  return { type: 'mcp_approval_request', id, name: toolName, server_label: agentId, arguments: jsonOf(input) };
}

function callItem(agentId: string, call: CallFacts, end: CallEnd, place: ItemPlace): CallOutput {
  const failure = end !== undefined && 'errorText' in end ? end.errorText : undefined;
  return {
    type: 'mcp_call',
    id: itemId('mcp', place),
    name: call.toolName,
    server_label: agentId,
    arguments: jsonOf(call.input),
    status: end === undefined ? 'incomplete' : failure === undefined ? 'completed' : 'failed',
    output: end !== undefined && 'output' in end ? textOf(end.output) : null,
    error:
      failure === undefined ? null : { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: failure }] },
    approval_request_id: call.approvalId === null ? null : approvalRequestId(call.approvalId),
  };
}

/** The parts that are items, each with its place in the step. Calls end after all texts of their step. */
function inOrder(step: Parts): [number, Parts[number]][] {
  const items = step.filter(({ type }) => type === 'text' || type === 'reasoning' || type === 'dynamic-tool');
  const isCall = ({ type }: Parts[number]): boolean => type === 'dynamic-tool';
  return [...items.entries()].toSorted(([, a], [, b]) => Number(isCall(a)) - Number(isCall(b)));
}

function callOf(part: DynamicToolUIPart, run: AnsweredRun, place: ItemPlace): CallOutput {
  const facts = { toolName: part.toolName, input: part.input, approvalId: part.approval?.id ?? null };
  return callItem(run.agentId, facts, endOf(part), place);
}

function endOf(part: DynamicToolUIPart): CallEnd {
  if (part.state === 'output-available') return { output: part.output };
  return part.state === 'output-error' ? { errorText: part.errorText } : undefined;
}

function statusOf({ state }: { state?: 'streaming' | 'done' }): 'completed' | 'incomplete' {
  return state === 'streaming' ? 'incomplete' : 'completed';
}

/** Parts before the first step belong to no item. */
function splitSteps(parts: Parts): Parts[] {
  const steps: Parts[] = [];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps;
}

/** The text content of a result; anything else as JSON. */
function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  const content = isRecord(output) ? (output as Partial<CallToolResult>).content : undefined;
  if (!Array.isArray(content) || content.some(({ type }) => type !== 'text')) return jsonOf(output);
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value ?? {});
}

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
