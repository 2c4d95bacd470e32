import { isRecord } from '../../../common/is-record.js';
import type { InvocationOutcome } from '../../../upstreams/invocation.js';
import { GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { AnsweredId, notTheAnswer } from './answered-id.js';
import { judgeAnswer, judgeMessage } from './answer-judge.js';
import type { RelayPlan } from './relay-plan.js';
import { replaceAll } from './replace-id.js';
import { answerAnew } from './written-anew.js';

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** A whole answer as the caller gets it, and how the request ended by it. */
export interface CompleteAnswer {
  readonly body: Buffer | string;
  readonly outcome: InvocationOutcome;
  /** The upstream's message; undefined if it was too large to be read. */
  readonly message: Record<string, unknown> | undefined;
}

/**
 * Makes the answer to the caller's request from the one that the upstream sent. A small one is read, so that no half or
 * foreign one passes for it; a large one is only looked at.
 * @throws UpstreamError if it is no answer to the request
 */
export function completeAnswer(bytes: Buffer, plan: RelayPlan, status = 200): CompleteAnswer {
  const isSmall = bytes.length <= GATHERED_BYTES;
  const { body, outcome, message } = isSmall
    ? completeSmall(bytes.toString('utf8'), plan, status)
    : completeLarge(bytes, plan);
  if (outcome === undefined) {
    throw new UpstreamError('protocol', 'The upstream did not answer the request in JSON-RPC.');
  }
  return { body: filteredBody(bytes, message, plan) ?? body, outcome, message };
}

/**
 * What a caller who may not see everything gets instead of the bytes, if they will not do. Only a list is made of what was read of
 * it: elsewhere numbers have to stay as the tool wrote them, and it is enough that every parser takes the id for the same.
 * @throws UpstreamError for what is not an answer to this request alone
 */
function filteredBody(
  bytes: Buffer,
  message: Record<string, unknown> | undefined,
  plan: RelayPlan,
): string | undefined {
  const { filter, isList, sentId, callerId } = plan;
  if (filter === undefined) return undefined;
  if (!isList && (message === undefined || isResponse(message, plan))) {
    // Of a large one this is known.
    if (message !== undefined && !isAnswerTo(bytes, sentId ?? callerId)) throw notTheAnswer();
    return undefined;
  }
  const answer = message ?? parseMessage(bytes.toString('utf8'));
  if (answer === undefined) throw new UpstreamError('protocol', 'The upstream answered with malformed JSON.');
  return answerAnew(answer, callerId, filter);
}

/** The message that a JSON text holds; undefined when it holds none. */
export function parseMessage(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Is this message the response to the request that was sent, result or error? */
export function isResponse(message: Record<string, unknown>, { sentId, callerId }: RelayPlan): boolean {
  return !('method' in message) && message['id'] === JSON.parse(sentId ?? callerId);
}

/** An answer that was looked at; without an outcome if it is none. */
interface Judged {
  readonly body: Buffer | string;
  readonly outcome: InvocationOutcome | undefined;
  readonly message: Record<string, unknown> | undefined;
}

function completeSmall(text: string, plan: RelayPlan, status: number): Judged {
  const { sentId, callerId } = plan;
  const message = parseMessage(text);
  const outcome = message && judgeSmall(message, plan, status);
  return { body: sentId === undefined ? text : withCallersId(text, sentId, callerId), outcome, message };
}

/** Nearly always the id occurs once. */
function withCallersId(text: string, sentId: string, callerId: string): string {
  const at = text.indexOf(sentId);
  if (at === -1) return text;
  const rest = at + sentId.length;
  const after = text.includes(sentId, rest) ? text.slice(rest).replaceAll(sentId, () => callerId) : text.slice(rest);
  return text.slice(0, at) + callerId + after;
}

function completeLarge(bytes: Buffer, plan: RelayPlan): Judged {
  const { sentId, callerId } = plan;
  const outcome = judgeLarge(bytes, plan);
  return {
    body: sentId === undefined ? bytes : replaceAll(bytes, Buffer.from(sentId), Buffer.from(callerId)),
    outcome,
    message: undefined,
  };
}

function judgeSmall(message: Record<string, unknown>, plan: RelayPlan, status: number): InvocationOutcome | undefined {
  if (!('result' in message || 'error' in message)) return undefined;
  // An error that was found before the id was read has none.
  const isEarlyError = status >= 400 && 'error' in message;
  return isEarlyError || isResponse(message, plan) ? judgeMessage(message) : undefined;
}

function judgeLarge(bytes: Buffer, { sentId, callerId }: RelayPlan): InvocationOutcome | undefined {
  const isWhole = firstByte(bytes) === OPEN_BRACE && lastByte(bytes) === CLOSE_BRACE;
  return isWhole && isAnswerTo(bytes, sentId ?? callerId) ? judgeAnswer(bytes) : undefined;
}

/** @param id JSON text */
function isAnswerTo(bytes: Buffer, id: string): boolean {
  const answered = new AnsweredId(id);
  return answered.push(bytes) && answered.found;
}

function firstByte(bytes: Buffer): number | undefined {
  return bytes.find((byte) => !isSpace(byte));
}

function lastByte(bytes: Buffer): number | undefined {
  return bytes.findLast((byte) => !isSpace(byte));
}

/** White space of JSON (RFC 8259 §2). */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
