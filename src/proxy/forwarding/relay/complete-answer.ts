import { Buffer, isUtf8 } from 'node:buffer';
import { GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import { type InvocationOutcome, SUCCESS, TOOL_FAILED } from '../../../upstreams/invocation.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { AnsweredId, wrongAnswerError, isIdVariant, replaceAll } from './answered-id.js';
import { needsWhole, type RelayPlan } from './relay-plan.js';
import { parseRecord, isRecord } from '../../../core/is-record.js';
import { countMembers, memberRange, withMember } from '../../../core/json/json-member.js';
import { modernStatusOf, SERVER_ERROR, URL_ELICITATION_REQUIRED } from '../../protocol/json-rpc-error.js';
import { renameTask } from '../tasks/task-messages.js';
import { reserializeAnswer, passesWhole } from './reserialize.js';

/** From this size, Node sends a buffer after the head for less than it takes to encode a text. */
const MIN_SENT_BYTES = 8 * 1024;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** A complete answer as the caller receives it, and the outcome of the request. */
export interface CompleteAnswer {
  /** The HTTP status, if the answer is sent alone. */
  readonly status: number;
  readonly body: Buffer | string;
  readonly outcome: InvocationOutcome;
  /** The upstream's message; undefined if it was too large to parse. */
  readonly message: Record<string, unknown> | undefined;
}

/**
 * Turns the upstream's answer into the answer to the caller. A small answer is parsed, so that a truncated or foreign
 * one is rejected; a large one is only scanned.
 * @throws UpstreamError if it does not answer the request
 */
export function completeAnswer(bytes: Buffer, plan: RelayPlan, status = 200): CompleteAnswer {
  if (bytes.length > GATHERED_BYTES) return { ...completeLarge(bytes, plan), status };
  const text = bytes.toString('utf8');
  return completeSmall(text, parseRecord(text), plan, { status, bytes });
}

/**
 * The same for a small answer that has been parsed. For a caller without full access, a list is serialized from the
 * parsed message. Other answers keep the tool's notation of numbers, and need only an id that every parser reads alike.
 * @param message undefined if the text is not a JSON object
 * @param source `bytes` of the text, if they are at hand: sending many of them costs less than sending their text
 * @throws UpstreamError if it does not answer the request
 */
export function completeSmall(
  text: string,
  message: Record<string, unknown> | undefined,
  plan: RelayPlan,
  { status = 200, bytes }: { readonly status?: number; readonly bytes?: Buffer } = {},
): CompleteAnswer {
  const { filter, isList, sentId, callerId, isModern } = plan;
  const outcome = message && judgeSmall(message, plan, status);
  if (message === undefined || outcome === undefined) throw notRpc();
  const renamed = renameTask(text, message, plan);
  if (renamed !== text) {
    return completeSmall(renamed, parseRecord(renamed), { ...plan, taskIdFor: undefined }, { status });
  }
  if (isModern && asksForUrl(message)) {
    const changed = withoutUrlCode(text);
    return completeSmall(changed, parseRecord(changed), plan, { status });
  }
  const answer = { status: (isModern ? modernStatusOf(message) : undefined) ?? status, outcome, message };
  if (filter !== undefined && !passesWhole(message, filter)) {
    if (isList || !isResponse(message, plan)) {
      return { ...answer, body: reserializeAnswer(message, callerId, filter) };
    }
    if (!namesOneId(text, message, sentId ?? callerId)) throw wrongAnswerError();
  }
  const body = bytes !== undefined && isBetterAsBytes(bytes) ? bytesFor(bytes, plan) : textFor(text, plan);
  return { ...answer, body };
}

/** True if it is the error that asks to open a URL. The modern era does not have it. */
function asksForUrl({ error }: Record<string, unknown>): boolean {
  return isRecord(error) && error['code'] === URL_ELICITATION_REQUIRED;
}

/** The same error under a code that this era has. */
function withoutUrlCode(text: string): string {
  const range = memberRange(text, 0, 'error');
  if (range === undefined) throw notRpc();
  return withMember(text, range.start, 'code', String(SERVER_ERROR));
}

function completeLarge(bytes: Buffer, plan: RelayPlan): Omit<CompleteAnswer, 'status'> {
  const { filter, isList, callerId } = plan;
  const outcome = judgeLarge(bytes, plan);
  if (outcome === undefined) throw notRpc();
  if (!needsWhole(plan)) return { body: bytesFor(bytes, plan), outcome, message: undefined };
  const text = bytes.toString('utf8');
  const message = parseRecord(text);
  if (message === undefined) throw new UpstreamError('protocol', 'The upstream answered with malformed JSON.');
  const body =
    filter !== undefined && isList && !passesWhole(message, filter)
      ? reserializeAnswer(message, callerId, filter)
      : bytesFor(Buffer.from(renameTask(text, message, plan)), plan);
  return { body, outcome, message: undefined };
}

function notRpc(): UpstreamError {
  return new UpstreamError('protocol', 'The upstream did not answer the request in JSON-RPC.');
}

/** True if this message is the response to the request that was sent, result or error. */
export function isResponse(message: Record<string, unknown>, { sentId, callerId }: RelayPlan): boolean {
  return !('method' in message) && message['id'] === JSON.parse(sentId ?? callerId);
}

/** The bytes of text that is not UTF-8 are not sent: the id was looked for in the text. */
function isBetterAsBytes(bytes: Buffer): boolean {
  return bytes.length >= MIN_SENT_BYTES && isUtf8(bytes);
}

function bytesFor(bytes: Buffer, { sentId, callerId }: RelayPlan): Buffer {
  return sentId === undefined ? bytes : replaceAll(bytes, Buffer.from(sentId), Buffer.from(callerId));
}

/** The id nearly always occurs once. */
function textFor(text: string, { sentId, callerId }: RelayPlan): string {
  const at = sentId === undefined ? -1 : text.indexOf(sentId);
  if (sentId === undefined || at === -1) return text;
  const rest = at + sentId.length;
  const after = text.includes(sentId, rest) ? text.slice(rest).replaceAll(sentId, () => callerId) : text.slice(rest);
  return text.slice(0, at) + callerId + after;
}

/**
 * True if every parser reads the id of this message as this service does. That is not so if it is written more than
 * once, or also in another case.
 * @param id JSON text
 */
function namesOneId(text: string, message: Record<string, unknown>, id: string): boolean {
  const keys = Object.keys(message);
  // Some other key is repeated, or the id is: only reading the keys tells.
  if (keys.length !== countMembers(text)) return isAnswerTo(Buffer.from(text), id);
  return !keys.some(isIdVariant);
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

const ERROR_MARK = Buffer.from('"error"');
const IS_ERROR_MARK = Buffer.from('"isError"');
const ERROR_MEMBER =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(?:"[^"\\]*"|[\d.eE+-]+|null)\s*,\s*)?"error"\s*:/;
const IS_ERROR_MEMBER = /"isError"\s*:\s*true/;

/**
 * The outcome that a complete answer reports. Searches its JSON text, and parses it only if it might report an error.
 */
function judgeAnswer(bytes: Buffer): InvocationOutcome {
  if (!bytes.includes(ERROR_MARK) && !bytes.includes(IS_ERROR_MARK)) return SUCCESS;
  return judgeMessage(parseRecord(bytes.toString('utf8')));
}

/** The same for a parsed message. */
function judgeMessage(message: unknown): InvocationOutcome {
  if (!isRecord(message) || 'error' in message) return TOOL_FAILED;
  const { result } = message;
  return isRecord(result) && result['isError'] === true ? TOOL_FAILED : SUCCESS;
}

/**
 * Judges an answer that is too large to buffer by the places where `error` and `isError` occur in practice: its first
 * bytes, and the last ones after the content.
 */
export function judgeEnds(first: Buffer, last: Buffer): InvocationOutcome {
  const isFailed = ERROR_MEMBER.test(first.toString('utf8')) || IS_ERROR_MEMBER.test(tailOf(last));
  return isFailed || IS_ERROR_MEMBER.test(headOf(first)) ? TOOL_FAILED : SUCCESS;
}

/** Everything before the content, which can contain any text. */
function headOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const content = text.indexOf('"content"');
  return content === -1 ? '' : text.slice(0, content);
}

/** Everything after the content. */
function tailOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.slice(text.lastIndexOf(']') + 1);
}
