import { outcomeOf } from '../../../upstreams/invocation.js';
import { type AnswerBody, discard, GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { rpcErrorText } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { judgeEnds } from './answer-judge.js';
import { AnsweredId, wrongAnswerError } from './answered-id.js';
import { brokenAnswer } from './broken-answer.js';
import { completeAnswer, isResponse, parseMessage } from './complete-answer.js';
import { keepAlive } from './keep-alive.js';
import { type RelayedAnswer, type RelayPlan } from './relay-plan.js';
import { replaceAll, StreamingReplacement } from './replace-id.js';
import { saysToolsChanged } from './tools-changed.js';
import type { CallerFilter } from './tool-list-filter.js';
import { reserializeEvent, eventHead, lineEndReplacements, reserializeMessage } from './reserialize.js';
import {
  dataOf,
  endsEvent,
  messageEvent,
  type SsePart,
  sseParts,
  withData,
} from '../../../upstreams/messages/sse-parts.js';

/** How much of the end of a chunked event is kept: enough to tell the outcome of its answer. */
const TAIL_BYTES = 4 * 1024;
/** A notification or a request whose first member is its method. */
const METHOD_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"/;
const EVENT_ID = /(?:^|[\r\n])id:/;
/** The largest event that is parsed for a caller without full access; a larger one has to be the answer. */
const MAX_READ_BYTES = 1024 * 1024;
const DATA_LINE = /(?<=^|[\r\n])data:/;

/** Relays an event stream, or collects its answer into one JSON body for a caller that accepts only JSON. */
export async function relayEvents({ status, body }: UpstreamAnswer, plan: RelayPlan): Promise<RelayedAnswer> {
  if (!plan.acceptsStream) return { status, contentType: 'application/json', ...(await answerIn(body, plan)) };
  return { status, contentType: 'text/event-stream', body: keepAlive(new EventRelay(body, plan).events()) };
}

/** @throws UpstreamError if the stream ends without the answer */
async function answerIn(body: AnswerBody, plan: RelayPlan): Promise<Pick<RelayedAnswer, 'body' | 'isHeld'>> {
  try {
    for await (const { bytes, isWhole } of sseParts(body, undefined, plan)) {
      if (!isWhole) throw new UpstreamError('protocol', 'The answer is too large for a JSON body.');
      const data = dataOf(bytes);
      if (data === undefined || !isAnswer(bytes, data, plan)) continue;
      const answer = completeAnswer(Buffer.from(data), plan);
      await plan.settle(answer.outcome, answer.message);
      return { body: answer.body, isHeld: plan.rooms.has(plan.reply) };
    }
  } catch (error) {
    throw brokenAnswer(error, plan);
  }
  throw endedWithoutAnswer();
}

/** One event stream on its way to the caller. */
class EventRelay {
  private readonly replacement: StreamingReplacement | undefined;
  private readonly lineEnds = lineEndReplacements();
  private isAnswered = false;
  /** Can the caller resume the stream in another request (`Last-Event-ID`)? */
  private isResumable = false;
  /** The first piece and the last bytes so far of an event that is too large to buffer. */
  private cut: { first: Buffer; last: Buffer; answered: AnsweredId } | undefined;
  private hasRoom = false;

  constructor(
    private readonly body: AnswerBody,
    private readonly plan: RelayPlan,
  ) {
    const { sentId, callerId } = plan;
    if (sentId !== undefined) this.replacement = new StreamingReplacement(Buffer.from(sentId), Buffer.from(callerId));
  }

  /** A stream that breaks off ends with an error answer, so that the caller notices. */
  async *events(): AsyncGenerator<Buffer> {
    const { plan, body } = this;
    try {
      for await (const part of sseParts(body, readLimit(plan), plan)) {
        this.giveRoomBack(part);
        const bytes = part.isWhole ? await this.relayWhole(part.bytes) : await this.relayPiece(part.bytes);
        if (bytes !== undefined) yield bytes;
        // In a shared session, events after the answer do not belong to this caller.
        if (this.isAnswered && plan.sentId !== undefined) break;
      }
      if (!this.isAnswered && !this.isResumable) throw endedWithoutAnswer();
    } catch (error) {
      const cause = brokenAnswer(error, plan);
      // A failure to record the outcome is ignored: it is what broke the stream off.
      await plan.settle(outcomeOf(cause)).catch(() => undefined);
      const text = messageEvent(rpcErrorText(toProxyError(cause), plan.callerId, plan.request.id));
      // The blank line ends an incomplete event; otherwise a client would read the error as part of it.
      yield this.cut === undefined ? text : Buffer.concat([Buffer.from('\n\n'), text]);
    } finally {
      discard(body);
      // A caller with its own session can resume in another request, so the outcome is not known here.
      await plan.settle({ status: 'error', errorCode: 'upstream_cancelled' }).catch(() => undefined);
    }
  }

  /** A small event follows once the caller has taken the large one before it, except for what the sockets buffer. */
  private giveRoomBack({ bytes, isWhole }: SsePart): void {
    const isLarge = !isWhole || bytes.length > GATHERED_BYTES;
    if (this.hasRoom && !isLarge) this.plan.rooms.leave(this.plan.reply);
    this.hasRoom = isLarge;
  }

  private async relayWhole(event: Buffer): Promise<Buffer | undefined> {
    const { rewriteEvent } = this.plan;
    const rewritten = rewriteEvent === undefined ? event : rewriteEvent(event);
    return rewritten && this.relayEvent(rewritten);
  }

  private async relayEvent(event: Buffer): Promise<Buffer | undefined> {
    const { plan } = this;
    const data = dataOf(event);
    // Callers cannot resume the stream of a shared session.
    if (plan.sentId === undefined && EVENT_ID.test(event.toString('utf8'))) this.isResumable = true;
    if (data === undefined && plan.filter === undefined) return event;
    if (data === undefined || data === '') return reserializeEvent(event, data);
    if (saysToolsChanged(event)) plan.onListChanged();
    if (isAnswer(event, data, plan)) {
      const { body, outcome, message } = completeAnswer(Buffer.from(data), plan);
      this.isAnswered = true;
      await plan.settle(outcome, message);
      return plan.filter === undefined ? withData(event, body.toString()) : reserializeEvent(event, body.toString());
    }
    if (plan.filter !== undefined) return this.filterOther(event, data, plan.filter);
    if (plan.sentId === undefined) return event;
    // In a shared session no caller has declared that it can answer requests of the upstream. The caller would take an answer to
    // another request for one of another upstream, because it tells answers apart by the id alone.
    if (isRequestOrResponse(data)) return undefined;
    return replaceAll(event, Buffer.from(plan.sentId), Buffer.from(plan.callerId));
  }

  /** Filters an event other than the answer, for a caller without full access; undefined if it cannot be filtered. */
  private filterOther(event: Buffer, data: string, filter: CallerFilter): Buffer | undefined {
    const { sentId, callerId } = this.plan;
    const message = parseMessage(data);
    if (message === undefined || (sentId !== undefined && 'id' in message)) return undefined;
    const text = reserializeMessage(message, filter);
    if (text === undefined) return undefined;
    return reserializeEvent(event, sentId === undefined ? text : text.replaceAll(sentId, () => callerId));
  }

  private async relayPiece(bytes: Buffer): Promise<Buffer> {
    const { plan, replacement } = this;
    if (plan.filter !== undefined && plan.isList) throw new UpstreamError('protocol', 'The list is too large.');
    if (plan.rewriteEvent !== undefined) throw new UpstreamError('protocol', 'An event of the answer is too large.');
    const isFirst = this.cut === undefined;
    const { sentId, callerId, filter } = plan;
    const data = isFirst ? afterData(bytes) : bytes;
    this.cut ??= { first: data ?? bytes, last: Buffer.alloc(0), answered: new AnsweredId(sentId ?? callerId) };
    const { first, last, answered } = this.cut;
    // A caller with full access and its own session can receive requests of the upstream, under any id.
    const isWatched = sentId !== undefined || filter !== undefined;
    if (isWatched && (data === undefined || !isOneLine(data) || !answered.push(data))) throw wrongAnswerError();
    this.cut.last = Buffer.concat([last, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
    const isLast = endsEvent(bytes);
    const piece = filter === undefined || data === undefined ? bytes : this.sanitized(bytes, data, isLast);
    const replaced = replacement?.push(piece) ?? piece;
    if (!isLast) return replaced;
    if (filter !== undefined && !answered.found) throw wrongAnswerError();
    const isForCaller = replacement?.found !== false;
    if (isForCaller && !METHOD_FIRST.test(first.toString('utf8'))) {
      this.isAnswered = true;
      await plan.settle(judgeEnds(first, this.cut.last));
    }
    this.cut = undefined;
    return replacement === undefined ? replaced : Buffer.concat([replaced, replacement.flush()]);
  }

  /** A piece of an answer that is too large to parse, as a caller without full access receives it. */
  private sanitized(piece: Buffer, data: Buffer, isLast: boolean): Buffer {
    // The fields before the data of the first piece are serialized again.
    const head = piece === data ? [] : [Buffer.from(`${eventHead(piece)}data:`)];
    let text = data;
    for (const replacement of this.lineEnds) {
      text = replacement.push(text);
      if (isLast) text = Buffer.concat([text, replacement.flush()]);
    }
    return Buffer.concat([...head, text]);
  }
}

/** The size up to which an event is buffered; undefined for the limit on parsing. */
function readLimit({ filter, isList, rewriteEvent }: RelayPlan): number | undefined {
  if (rewriteEvent !== undefined || (filter !== undefined && isList)) return undefined;
  return filter === undefined ? GATHERED_BYTES : MAX_READ_BYTES;
}

function isAnswer(event: Buffer, data: string, plan: RelayPlan): boolean {
  const { sentId, filter } = plan;
  const names = sentId === undefined ? data.includes('"result"') || data.includes('"error"') : event.includes(sentId);
  // Keys and ids can be written with escapes. Those matter only where something is withheld from the caller.
  if (!names && filter === undefined) return false;
  const message = parseMessage(data);
  // The sent id is unique, so this event is the answer even if it is malformed.
  return message === undefined ? names && sentId !== undefined : isResponse(message, plan);
}

/** Is it anything but a notification? Only parsing tells, because a key can be written with escapes. */
function isRequestOrResponse(data: string): boolean {
  if (data === '') return false;
  const message = parseMessage(data);
  return message === undefined || 'id' in message;
}

/** The event from the beginning of its data; undefined if it has none. */
function afterData(event: Buffer): Buffer | undefined {
  const at = event.toString('latin1').search(DATA_LINE);
  return at === -1 ? undefined : event.subarray(at + 'data:'.length);
}

/** Is this piece of an event's data on one line? Further lines could contain another message. */
function isOneLine(data: Buffer): boolean {
  return !/[\r\n]/.test(data.toString('latin1').replace(/[\r\n]{1,4}$/, ''));
}

function endedWithoutAnswer(): UpstreamError {
  return new UpstreamError('protocol', 'The upstream ended its answer without a response to the request.');
}
