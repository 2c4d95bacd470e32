import { isRecord } from '../../../common/is-record.js';
import type { InvocationOutcome } from '../../../upstreams/invocation.js';
import { GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { AnsweredId, wrongAnswerError } from './answered-id.js';
import { judgeAnswer, judgeMessage } from './answer-judge.js';
import type { RelayPlan } from './relay-plan.js';
import { replaceAll } from './replace-id.js';
import { reserializeAnswer } from './reserialize.js';

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** A complete answer as the caller receives it, and the outcome of the request. */
export interface CompleteAnswer {
  readonly body: Buffer | string;
  readonly outcome: InvocationOutcome;
  /** The upstream's message; undefined if it was too large to parse. */
  readonly message: Record<string, unknown> | undefined;
}

/**
 * Turns the upstream's answer into the answer to the caller. A small answer is parsed, so that a truncated or foreign one is
 * rejected; a large one is only scanned.
 * @throws UpstreamError if it does not answer the request
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
 * The body for a caller without full access, where the upstream's bytes cannot be used. Only lists are serialized from the parsed
 * message. Other answers keep the tool's notation of numbers, and need only an id that every parser reads alike.
 * @throws UpstreamError if it does not answer exactly this request
 */
function filteredBody(
  bytes: Buffer,
  message: Record<string, unknown> | undefined,
  plan: RelayPlan,
): string | undefined {
  const { filter, isList, sentId, callerId } = plan;
  if (filter === undefined) return undefined;
  if (!isList && (message === undefined || isResponse(message, plan))) {
    // `completeLarge` has already checked a large answer.
    if (message !== undefined && !isAnswerTo(bytes, sentId ?? callerId)) throw wrongAnswerError();
    return undefined;
  }
  const answer = message ?? parseMessage(bytes.toString('utf8'));
  if (answer === undefined) throw new UpstreamError('protocol', 'The upstream answered with malformed JSON.');
  return reserializeAnswer(answer, callerId, filter);
}

/** Parses a JSON text; undefined if it is not a JSON object. */
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

/** An inspected answer; without an outcome if it does not answer the request. */
interface InspectedAnswer {
  readonly body: Buffer | string;
  readonly outcome: InvocationOutcome | undefined;
  readonly message: Record<string, unknown> | undefined;
}

function completeSmall(text: string, plan: RelayPlan, status: number): InspectedAnswer {
  const { sentId, callerId } = plan;
  const message = parseMessage(text);
  const outcome = message && judgeSmall(message, plan, status);
  return { body: sentId === undefined ? text : withCallersId(text, sentId, callerId), outcome, message };
}

/** The id nearly always occurs once. */
function withCallersId(text: string, sentId: string, callerId: string): string {
  const at = text.indexOf(sentId);
  if (at === -1) return text;
  const rest = at + sentId.length;
  const after = text.includes(sentId, rest) ? text.slice(rest).replaceAll(sentId, () => callerId) : text.slice(rest);
  return text.slice(0, at) + callerId + after;
}

function completeLarge(bytes: Buffer, plan: RelayPlan): InspectedAnswer {
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
  // An upstream that fails before it reads the id answers with an error without an id.
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
