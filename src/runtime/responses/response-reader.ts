import { Injectable } from '@nestjs/common';
import type { UIMessage } from 'ai';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { requireRunAccess } from '../../core/run-access.js';
import { isOpenRunStatus } from '../../core/run-status.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader } from '../runs/records/run-reader.js';
import type { MessageItem } from '../threads/thread.dto.js';
import { TranscriptService } from '../threads/transcript.service.js';
import { approvalItemsOf, type InputItem, inputItemsOf } from './input-items.js';
import { type AnswerSegment, segmentsOf } from './output-items.js';
import { factsOf, isInstructions, responseId, uuidOfResponse } from './response-ids.js';
import { DECIDED_BY_AGENT, type ResponseObject, type ResponseStatus, usageOf } from './response-object.js';
import { fault, textOf } from './response-input.js';

/** A response, and the run that it is an answer of. */
export interface FoundResponse {
  readonly run: RunEntity;
  /** The first approval of the step before it; null for the first answer of the run. */
  readonly begunBy: string | null;
}

type RoundOf = (step: number) => number | undefined;

/** The finish reasons of models that leave a response incomplete, and what OpenAI calls them. */
const CUT_BY: Readonly<Record<string, string>> = { length: 'max_output_tokens', 'content-filter': 'content_filter' };

/** Reads responses: the answers of runs. */
@Injectable()
export class ResponseReader {
  constructor(
    private readonly runs: RunReader,
    private readonly transcript: TranscriptService,
  ) {}

  /**
   * A response that the caller can read: authorized as for the stream of its run. Whether it was deleted shows when it
   * is read.
   * @throws DomainError `run_not_found`, `permission_denied`
   */
  async find(caller: Principal, id: string, path?: string): Promise<FoundResponse> {
    const organizationId = caller.organization.id;
    const uuid = uuidOfResponse(id);
    if (uuid === undefined) throw unknownResponse(path);
    const first = await this.runs.findRun(organizationId, uuid);
    const run = first ?? (await this.runs.findOfApproval(organizationId, uuid));
    if (run === null) throw unknownResponse(path);
    requireRunAccess(caller, run.agentId);
    return { run, begunBy: first === null ? uuid : null };
  }

  /**
   * The response as it is stored, however far it is.
   * @throws DomainError `run_not_found` if it was deleted, `answer_memory_exhausted`
   */
  async read(
    { run: { organizationId, id }, begunBy }: FoundResponse,
    answer: HeldAnswer,
    roundOf?: RoundOf,
  ): Promise<ResponseObject> {
    const run = await this.runs.findRun(organizationId, id);
    if (run === null) throw unknownResponse();
    const question = await this.requireQuestion(run, answer);
    const { segments, at, segment } = await this.locate({ run, begunBy }, answer, roundOf);
    const response = responseOf(run, question, { isLast: at === segments.length - 1, output: segment.items });
    if (segment.begunBy === null) return response;
    return {
      ...continued(response, run, segment.begunBy),
      previous_response_id: responseId(segments[at - 1]?.begunBy ?? run.id),
    };
  }

  /**
   * The response before its first output, and its place among the answers of the run, from 0.
   * @throws DomainError `run_not_found` if it was deleted, `answer_memory_exhausted`
   */
  async readBegun(
    { run, begunBy }: FoundResponse,
    answer: HeldAnswer,
  ): Promise<{ response: ResponseObject; segment: number }> {
    const question = await this.requireQuestion(run, answer);
    const begun: RunEntity = { ...run, status: 'running', usage: null, error: null, finishedAt: null };
    const response = responseOf(begun, question, { isLast: true, output: [] });
    if (begunBy === null) return { response, segment: 0 };
    const message = await this.transcript.findAnswerItem(run, answer);
    const parts = (message?.parts ?? []) as UIMessage['parts'];
    const segments = segmentsOf(parts, run, { isAsking: false });
    const segment = placeOf(parts, segments, begunBy);
    const found = segments[segment]?.begunBy;
    if (found == null) throw unknownResponse();
    return { response: continued(response, run, found), segment };
  }

  /**
   * False if the run has answered on after approvals.
   * @throws DomainError `run_not_found`, `answer_memory_exhausted`
   */
  async isLast(found: FoundResponse, answer: HeldAnswer): Promise<boolean> {
    const { segments, at } = await this.locate(found, answer);
    return at === segments.length - 1;
  }

  /** @throws DomainError `conflict` if the run has said or done more after approvals; what `isLast` throws */
  async requireLast(found: FoundResponse, answer: HeldAnswer, path: string): Promise<void> {
    const { segments, at } = await this.locate(found, answer);
    // If it was cancelled while it waited, the answer after the requests is empty.
    if (segments.slice(at + 1).every(({ items }) => items.length === 0)) return;
    throw fault('conflict', path, 'The run has answered on after this response. Name its last response.');
  }

  /** The input of a response. @throws DomainError `run_not_found` if it was deleted, `answer_memory_exhausted` */
  async readInput({ run, begunBy }: FoundResponse, answer: HeldAnswer): Promise<InputItem[]> {
    const question = await this.requireQuestion(run, answer);
    if (begunBy === null) return inputItemsOf(question);
    const message = await this.transcript.findAnswerItem(run, answer);
    return approvalItemsOf((message?.parts ?? []) as UIMessage['parts'], begunBy);
  }

  /** The answers of a run, and the one of the response. @throws DomainError `run_not_found` if there is none */
  private async locate(
    { run, begunBy }: FoundResponse,
    answer: HeldAnswer,
    roundOf?: RoundOf,
  ): Promise<{ segments: AnswerSegment[]; at: number; segment: AnswerSegment }> {
    const message = await this.transcript.findAnswerItem(run, answer);
    const isAsking = (await this.runs.pendingOf([run], answer)).has(run.id);
    const parts = (message?.parts ?? []) as UIMessage['parts'];
    const segments = segmentsOf(parts, run, { isAsking, roundOf });
    const at = begunBy === null ? 0 : placeOf(parts, segments, begunBy);
    const segment = segments[at];
    if (segment === undefined) throw unknownResponse();
    return { segments, at, segment };
  }

  /** The messages that the run answers. @throws DomainError `run_not_found` if the response was deleted */
  async requireQuestion(run: RunEntity, answer: HeldAnswer, path?: string): Promise<MessageItem[]> {
    const question = await this.transcript.findRequestItems(run, answer);
    if (question.some(({ metadata }) => metadata['superseded_by'] === run.id)) throw unknownResponse(path);
    return question;
  }
}

/** The place of the answer that begins with this approval, which any of its step can name; -1 without one. */
function placeOf(parts: UIMessage['parts'], segments: readonly AnswerSegment[], approvalId: string): number {
  let first: string | undefined;
  for (const part of parts) {
    if (part.type === 'step-start') first = undefined;
    if (part.type !== 'dynamic-tool' || part.approval === undefined) continue;
    first ??= part.approval.id;
    if (part.approval.id === approvalId) return segments.findIndex(({ begunBy }) => begunBy === first);
  }
  return -1;
}

/** An answer that goes on after approvals is a response of its own. */
function continued(response: ResponseObject, run: RunEntity, begunBy: string): ResponseObject {
  return { ...response, id: responseId(begunBy), metadata: { ...response.metadata, taskId: run.id } };
}

function responseOf(
  run: RunEntity,
  question: readonly MessageItem[],
  { isLast, output }: { isLast: boolean; output: ResponseObject['output'] },
): ResponseObject {
  const facts = question.flatMap(({ id }) => factsOf(id) ?? [])[0];
  const instructions = question.find(({ id }) => isInstructions(id));
  const status = isLast ? statusOf(run) : 'completed';
  const reason = CUT_BY[run.finishReason ?? ''];
  const failure = status === 'failed' ? (run.error ?? { code: 'internal', message: 'The run has failed.' }) : null;
  return {
    ...DECIDED_BY_AGENT,
    id: responseId(run.id),
    object: 'response',
    created_at: secondsOf(run.createdAt),
    completed_at: status === 'completed' ? secondsOf(run.finishedAt ?? run.updatedAt) : null,
    status,
    background: facts?.mode === 'background',
    error: failure && { type: 'server_error', code: failure.code, message: failure.message },
    incomplete_details: status === 'incomplete' && reason !== undefined ? { reason } : null,
    instructions: instructions === undefined ? null : textOf(instructions.parts as { type: string; text?: string }[]),
    model: run.agentId,
    conversation: { id: run.threadId },
    previous_response_id: facts?.previous == null ? null : responseId(facts.previous),
    output,
    usage: isLast ? usageOf(run.usage) : null,
    metadata: run.metadata,
    temperature: run.temperature ?? 1,
    text: { format: { type: 'text' } },
    store: facts?.mode !== 'transient',
  };
}

function statusOf({ status, finishReason }: RunEntity): ResponseStatus {
  if (status === 'running') return 'in_progress';
  // The answer ends with the requests for approvals.
  if (status === 'waiting') return 'completed';
  return status === 'completed' && CUT_BY[finishReason ?? ''] !== undefined ? 'incomplete' : status;
}

function secondsOf(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

export function unknownResponse(path = 'response_id'): DomainError {
  const message = 'There is no response with this id in the organization.';
  return new DomainError('run_not_found', message, [{ path, code: 'run_not_found', message }]);
}

/** @throws DomainError `thread_busy` if the run of the response is not over */
export function requireOver({ run }: FoundResponse, path: string): void {
  if (!isOpenRunStatus(run.status)) return;
  const message =
    run.status === 'waiting'
      ? 'The response waits for answers to its approval requests.'
      : 'The response is not complete. Wait for it, or cancel it.';
  throw new DomainError('thread_busy', message, [{ path, code: 'thread_busy', message }]);
}
