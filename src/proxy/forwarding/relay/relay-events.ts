import type { Readable } from 'node:stream';
import { isRecord, parseRecord } from '../../../core/is-record.js';
import { type InvocationOutcome, outcomeOf } from '../../../upstreams/invocation.js';
import {
  type AnswerBody,
  chunksOf,
  discard,
  GATHERED_BYTES,
  turnsOf,
} from '../../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import { isFrom } from '../../../upstreams/contract/log-level.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { rpcErrorText } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { type CompleteAnswer, completeAnswer, completeSmall, isResponse, judgeEnds } from './complete-answer.js';
import { AnsweredId, wrongAnswerError, replaceAll, StreamingReplacement } from './answered-id.js';
import { keepAlive } from './keep-alive.js';
import { brokenAnswer, needsWhole, type RelayedAnswer, type RelayPlan } from './relay-plan.js';
import { Silence } from './silence.js';
import { saysToolsChanged } from './relay-unsolicited.js';
import { reserializeEvent, eventHead, lineEndReplacements, reserializeMessage } from './reserialize.js';
import {
  dataOf,
  endsEvent,
  isLineEnd,
  messageEvent,
  type SsePart,
  sseParts,
  SseSplitter,
  withData,
} from '../../../upstreams/messages/sse-parts.js';

/** A caller receives the headers of a stream that is silent for this long. */
const BEGINNING_MS = 1_000;
/**
 * How long an event without a message waits for the answer. Servers with resumable streams begin each with such an
 * event.
 */
const PRIMING_MS = 20;
/** How much of the end of a chunked event is kept: enough to tell the outcome of its answer. */
const TAIL_BYTES = 4 * 1024;
/** A notification or a request whose first member is its method. */
const METHOD_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"/;
const EVENT_ID = /(?:^|[\r\n])id:/;
/** The largest event that is parsed for a caller without full access; a larger one has to be the answer. */
const MAX_READ_BYTES = 1024 * 1024;
/** The length of the longest end of an event: CR LF twice. */
const MAX_END_BYTES = 4;
const DATA_LINE = /(?<=^|[\r\n])data:/;

/**
 * Relays an event stream, or collects its answer into one JSON body for a caller that accepts only JSON. Most streams
 * consist of their answer: such a stream is relayed as a complete body, which costs far less than a stream. Any other
 * event is relayed when it arrives.
 */
export async function relayEvents({ status, body }: UpstreamAnswer, plan: RelayPlan): Promise<RelayedAnswer> {
  if (!plan.acceptsStream) return answerIn(body, plan);
  const relay = new EventRelay(body, plan);
  const complete = await relay.begin();
  const contentType = 'text/event-stream';
  if (complete === undefined) return { status, contentType, body: keepAlive(relay.events()) };
  const isHeld = plan.rooms.has(plan.reply);
  return relay.refusal === undefined
    ? { status, contentType, body: complete, isHeld }
    : { ...relay.refusal, contentType: 'application/json', isHeld };
}

/** @throws UpstreamError if the stream ends without the answer */
async function answerIn(body: AnswerBody, plan: RelayPlan): Promise<RelayedAnswer> {
  try {
    for await (const { bytes, isWhole } of sseParts(body, undefined, plan)) {
      if (!isWhole) throw new UpstreamError('protocol', 'The answer is too large for a JSON body.');
      const data = dataOf(bytes);
      const answer = data === undefined ? undefined : answerInEvent(bytes, data, plan);
      if (answer === undefined) {
        if (data !== undefined) takeOther(data, plan);
        continue;
      }
      const { outcome, message, ...complete } = answer;
      await plan.settle(outcome, message);
      return { ...complete, contentType: 'application/json', isHeld: plan.rooms.has(plan.reply) };
    }
  } catch (error) {
    throw brokenAnswer(error, plan);
  }
  throw endedWithoutAnswer();
}

/** One event stream on its way to the caller. */
class EventRelay {
  private readonly splitter: SseSplitter;
  private readonly replacement: StreamingReplacement | undefined;
  private lineEnds: StreamingReplacement[] | undefined;
  /** What is ready for the caller, from before `events` was called. */
  private readonly ready: Buffer[] = [];
  /** True once a JSON-RPC message is ready, not only the event that lets the caller resume the stream. */
  private hasMessage = false;
  private isAnswered = false;
  /** True once the last event for the caller has been read. */
  private isLast = false;
  /** Set when the answer has been read; resolves when its outcome is recorded. */
  private settling: Promise<void> | undefined;
  /** True if the caller can resume the stream in another request (`Last-Event-ID`). */
  private isResumable = false;
  /** The answer, if it comes first and has an HTTP status of its own, which a stream cannot have. */
  refusal: Pick<CompleteAnswer, 'status' | 'body'> | undefined;
  /** The first piece and the last bytes so far of an event that is too large to buffer. */
  private cut: { first: Buffer; last: Buffer; answered: AnsweredId } | undefined;
  /** True if the response has room for what was read last: a large event, or many events at once. */
  private hasRoom = false;

  constructor(
    private readonly body: AnswerBody,
    private readonly plan: RelayPlan,
  ) {
    const { sentId, callerId } = plan;
    this.splitter = new SseSplitter(readLimit(plan), plan);
    if (sentId !== undefined) this.replacement = new StreamingReplacement(Buffer.from(sentId), Buffer.from(callerId));
  }

  /**
   * Reads up to the first message for the caller, or for a limited time. Returns the complete stream if it is over by
   * then; otherwise `events` returns all of it.
   */
  async begin(): Promise<Buffer | undefined> {
    try {
      const hasEnded = Buffer.isBuffer(this.body) ? this.readChunk(this.body) : await this.readBeginning(this.body);
      if (this.settling !== undefined) await this.settling;
      if (!this.isLast && !hasEnded) return undefined;
      this.requireAnswered();
    } catch (error) {
      // The answer must not be sent if its outcome could not be recorded.
      if (this.isAnswered) this.ready.pop();
      this.refusal = undefined;
      const failure = await this.failure(error);
      if (failure !== undefined) this.ready.push(failure);
    }
    await this.close();
    return this.ready.length === 1 ? this.ready[0] : Buffer.concat(this.ready);
  }

  /**
   * The stream, if `begin` did not return it. One that breaks off ends with an error answer, so that the caller
   * notices, unless the caller has cancelled the request.
   */
  async *events(): AsyncGenerator<Buffer> {
    try {
      yield* this.ready;
      read: for await (const chunk of chunksOf(this.body, this.plan)) {
        const entering = this.splitter.requireRoomFor(chunk);
        if (entering !== undefined) await this.entered(entering);
        for (const part of this.splitter.push(chunk)) {
          // The caller has taken the event before, except for what the sockets buffer.
          if (this.hasRoom && !isLarge(part)) this.plan.rooms.leave(this.plan.reply);
          const bytes = this.relayPart(part);
          if (this.settling !== undefined) await this.settling;
          if (bytes !== undefined) yield bytes;
          if (this.isLast) break read;
        }
      }
      this.requireAnswered();
    } catch (error) {
      const failure = await this.failure(error);
      if (failure !== undefined) yield failure;
    } finally {
      await this.close();
    }
  }

  /** Returns true if the stream has ended. */
  private async readBeginning(body: Readable): Promise<boolean> {
    let silence = new Silence(BEGINNING_MS);
    const turns = turnsOf(this.plan.request.principal);
    try {
      while (!body.destroyed) {
        const chunk = body.read() as Buffer | null;
        if (chunk !== null) {
          const isFirst = this.ready.length === 0;
          const entering = this.splitter.requireRoomFor(chunk);
          if (entering !== undefined) await this.entered(entering);
          const turn = turns.next(chunk.length);
          if (turn !== undefined) await turn;
          this.readChunk(chunk);
          if (this.hasMessage) return false;
          if (isFirst && this.ready.length > 0) {
            silence.end();
            silence = new Silence(PRIMING_MS);
          }
        } else if (body.readableEnded) return true;
        else if (await silence.lastsUntil(body)) return false;
      }
      return body.readableEnded;
    } finally {
      silence.end();
    }
  }

  private async entered(entering: Promise<void>): Promise<void> {
    await entering;
    this.hasRoom = true;
  }

  private readChunk(chunk: Buffer): true {
    for (const part of this.splitter.push(chunk)) {
      const bytes = this.relayPart(part);
      if (bytes !== undefined) this.ready.push(bytes);
      if (this.isLast) break;
    }
    return true;
  }

  /** @throws UpstreamError if the stream has ended without the answer */
  private requireAnswered(): void {
    if (!this.isAnswered && !this.isResumable) throw endedWithoutAnswer();
  }

  /** The event that ends the stream; undefined if the caller has cancelled the request. */
  private async failure(fault: unknown): Promise<Buffer | undefined> {
    const { plan } = this;
    const cause = brokenAnswer(fault, plan);
    // A failure to record the outcome is ignored: it is what broke the stream off.
    await plan.settle(outcomeOf(cause)).catch(() => undefined);
    if (plan.cancelled?.aborted === true) return undefined;
    const text = messageEvent(rpcErrorText(toProxyError(cause), plan.callerId, plan.request.id));
    // The blank line ends an incomplete event; otherwise a client would read the error as part of it.
    return this.cut === undefined ? text : Buffer.concat([Buffer.from('\n\n'), text]);
  }

  private async close(): Promise<void> {
    discard(this.body);
    if (this.isAnswered) return;
    // A caller with its own session can resume in another request, so the outcome is not known here.
    await this.plan.settle({ status: 'error', errorCode: 'upstream_cancelled' }).catch(() => undefined);
  }

  private settle(outcome: InvocationOutcome, message?: Record<string, unknown>): void {
    this.settling = this.plan.settle(outcome, message);
    // Without a handler, a failure before it is awaited would end the process.
    this.settling.catch(() => undefined);
  }

  private relayPart(part: SsePart): Buffer | undefined {
    this.hasRoom = isLarge(part);
    const { bytes, isWhole } = part;
    if (!isWhole) return this.relayPiece(bytes);
    const { rewriteEvent } = this.plan;
    const event = rewriteEvent === undefined ? bytes : rewriteEvent(bytes);
    return event && this.relayEvent(event);
  }

  private relayEvent(event: Buffer): Buffer | undefined {
    const { plan } = this;
    const text = event.toString('utf8');
    const data = dataOf(text);
    // Callers cannot resume the stream of a shared session.
    if (plan.sentId === undefined && EVENT_ID.test(text)) this.isResumable = true;
    // An event without data only serves to resume the stream.
    if ((data === undefined || data === '') && plan.sentId !== undefined) return undefined;
    if (data === undefined && plan.filter === undefined) return event;
    if (data === undefined || data === '') return reserializeEvent(event, data);
    this.hasMessage = true;
    if (saysToolsChanged(event)) plan.onListChanged();
    const answer = answerInEvent(event, data, plan);
    if (answer !== undefined) {
      const { status, body, outcome, message } = answer;
      this.isAnswered = true;
      if (status !== 200 && this.ready.length === 0) this.refusal = { status, body };
      // A server sends the answer last (MCP 2025-11-25, transports).
      this.isLast = true;
      this.settle(outcome, message);
      return plan.filter === undefined ? withData(event, body.toString()) : reserializeEvent(event, body.toString());
    }
    return this.relayOther(event, data);
  }

  /** Relays an event other than the answer; undefined if it is not for the caller. */
  private relayOther(event: Buffer, data: string): Buffer | undefined {
    const { filter, sentId, callerId } = this.plan;
    const isUnfiltered = filter === undefined || filter.holdsAll === true;
    if (isUnfiltered && sentId === undefined) return event;
    const message = parseRecord(data);
    if (message === undefined || isUnwantedLog(message, this.plan)) return undefined;
    // In a shared session no caller has declared that it can answer requests of the upstream. The caller would take an
    // answer to another request for one of another upstream, because it tells answers apart by the id alone.
    if (sentId !== undefined && 'id' in message) {
      if (this.plan.ownRequests?.has(message['id']) === true) return event;
      answerRequest(message, this.plan);
      return undefined;
    }
    if (isUnfiltered) return replaceAll(event, Buffer.from(sentId ?? callerId), Buffer.from(callerId));
    const text = reserializeMessage(message, filter);
    if (text === undefined) return undefined;
    return reserializeEvent(event, sentId === undefined ? text : text.replaceAll(sentId, () => callerId));
  }

  private relayPiece(bytes: Buffer): Buffer {
    this.hasMessage = true;
    const { plan, replacement } = this;
    if (plan.rewriteEvent !== undefined || needsWhole(plan))
      throw new UpstreamError('protocol', 'An event of the answer is too large.');
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
      // Without a unique id, only parsing tells an answer from another event.
      this.isLast = sentId !== undefined;
      this.settle(judgeEnds(first, this.cut.last));
    }
    this.cut = undefined;
    return replacement === undefined ? replaced : Buffer.concat([replaced, replacement.flush()]);
  }

  /** A piece of an answer that is too large to parse, as a caller without full access receives it. */
  private sanitized(piece: Buffer, data: Buffer, isLast: boolean): Buffer {
    // The fields before the data of the first piece are serialized again.
    const head = piece === data ? [] : [Buffer.from(`${eventHead(piece)}data:`)];
    let text = data;
    this.lineEnds ??= lineEndReplacements();
    for (const replacement of this.lineEnds) {
      text = replacement.push(text);
      if (isLast) text = Buffer.concat([text, replacement.flush()]);
    }
    return Buffer.concat([...head, text]);
  }
}

function isLarge({ bytes, isWhole }: SsePart): boolean {
  return !isWhole || bytes.length > GATHERED_BYTES;
}

/** The size up to which an event is buffered; undefined for the limit on parsing. */
function readLimit(plan: RelayPlan): number | undefined {
  if (plan.rewriteEvent !== undefined || needsWhole(plan)) return undefined;
  return plan.filter === undefined ? GATHERED_BYTES : MAX_READ_BYTES;
}

/** The answer to the request, if this event contains it. @throws UpstreamError if the answer is malformed */
function answerInEvent(event: Buffer, data: string, plan: RelayPlan): CompleteAnswer | undefined {
  const { sentId, filter } = plan;
  const names = sentId === undefined ? data.includes('"result"') || data.includes('"error"') : event.includes(sentId);
  // Keys and ids can be written with escapes. Those matter only where something is withheld from the caller.
  if (!names && filter === undefined) return undefined;
  const message = parseRecord(data);
  // The sent id is unique, so this event is the answer even if it is malformed.
  const isAnswer = message === undefined ? names && sentId !== undefined : isResponse(message, plan);
  if (!isAnswer) return undefined;
  return event.length > GATHERED_BYTES ? completeAnswer(Buffer.from(data), plan) : completeSmall(data, message, plan);
}

/** Has the message answered if it is a request of the upstream. */
function answerRequest({ id, method }: Record<string, unknown>, plan: RelayPlan): void {
  if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) return;
  plan.answerRequest?.({ id, method });
}

/** Takes a message that one JSON body leaves out. */
function takeOther(data: string, plan: RelayPlan): void {
  const { answerRequest: answer, onUnsentLog } = plan;
  if (answer === undefined && onUnsentLog === undefined) return;
  const message = parseRecord(data) ?? {};
  if (isLog(message) && !isUnwantedLog(message, plan)) onUnsentLog?.(message);
  else answerRequest(message, plan);
}

/** True if this is a log message that is less severe than those that the caller wants. */
function isUnwantedLog(message: Record<string, unknown>, { logLevel }: RelayPlan): boolean {
  if (logLevel === undefined || !isLog(message)) return false;
  return !isFrom(logLevel, isRecord(message['params']) ? message['params']['level'] : undefined);
}

function isLog({ method }: Record<string, unknown>): boolean {
  return method === 'notifications/message';
}

/** The event from the beginning of its data; undefined if it has none. */
function afterData(event: Buffer): Buffer | undefined {
  const at = event.toString('latin1').search(DATA_LINE);
  return at === -1 ? undefined : event.subarray(at + 'data:'.length);
}

/** True if this piece of an event's data is on one line. Further lines could contain another message. */
function isOneLine(data: Buffer): boolean {
  let end = data.length;
  while (end > data.length - MAX_END_BYTES && isLineEnd(data[end - 1])) end--;
  const line = data.subarray(0, end);
  return !line.includes('\n') && !line.includes('\r');
}

function endedWithoutAnswer(): UpstreamError {
  return new UpstreamError('protocol', 'The upstream ended its answer without a response to the request.');
}
