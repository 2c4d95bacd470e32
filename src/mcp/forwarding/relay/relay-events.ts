import { outcomeOf } from '../../../upstreams/invocation.js';
import { type AnswerBody, discard, GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { rpcErrorText } from '../../protocol/json-rpc-error.js';
import { toProxyError } from '../../protocol/to-proxy-error.js';
import { judgeEnds } from './answer-judge.js';
import { AnsweredId, notTheAnswer } from './answered-id.js';
import { brokenAnswer } from './broken-answer.js';
import { completeAnswer, isResponse, parseMessage } from './complete-answer.js';
import { keepAlive } from './keep-alive.js';
import { type RelayedAnswer, type RelayPlan } from './relay-plan.js';
import { replaceAll, StreamingReplacement } from './replace-id.js';
import { saysToolsChanged } from './tools-changed.js';
import type { CallerFilter } from './tool-list-filter.js';
import { eventAnew, eventHead, lineEndReplacements, messageAnew } from './written-anew.js';
import { dataOf, endsEvent, messageEvent, sseParts, withData } from '../../../upstreams/messages/sse-parts.js';

/** Of an event that is cut into pieces: enough to tell how its answer ended. */
const TAIL_BYTES = 4 * 1024;
/** A message that says what it is before it says anything else: a notification or a request. */
const METHOD_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"/;
const EVENT_ID = /(?:^|[\r\n])id:/;
/** As much of an event as is read for a caller who may not see everything; a larger one has to be the answer. */
const MAX_READ_BYTES = 1024 * 1024;
const DATA_LINE = /(?<=^|[\r\n])data:/;

/** Relays an event stream as one, or gathers its answer into one JSON body for a caller that accepts nothing else. */
export async function relayEvents({ status, body }: UpstreamAnswer, plan: RelayPlan): Promise<RelayedAnswer> {
  if (!plan.acceptsStream) return { status, contentType: 'application/json', body: await answerIn(body, plan) };
  return { status, contentType: 'text/event-stream', body: keepAlive(new EventRelay(body, plan).events()) };
}

/** @throws UpstreamError if the stream ends without the answer */
async function answerIn(body: AnswerBody, plan: RelayPlan): Promise<Buffer | string> {
  try {
    for await (const { bytes, isWhole } of sseParts(body)) {
      if (!isWhole) throw new UpstreamError('protocol', 'The answer is too large to be gathered.');
      const data = dataOf(bytes);
      if (data === undefined || !isAnswer(bytes, data, plan)) continue;
      const answer = completeAnswer(Buffer.from(data), plan);
      await plan.settle(answer.outcome, answer.message);
      return answer.body;
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
  /** Can the caller ask for the rest in another request (`Last-Event-ID`)? */
  private isResumable = false;
  /** Of an event that is too large to be gathered: its first piece, and its last bytes so far. */
  private cut: { first: Buffer; last: Buffer; answered: AnsweredId } | undefined;

  constructor(
    private readonly body: AnswerBody,
    private readonly plan: RelayPlan,
  ) {
    const { sentId, callerId } = plan;
    if (sentId !== undefined) this.replacement = new StreamingReplacement(Buffer.from(sentId), Buffer.from(callerId));
  }

  /** A stream that breaks off ends with an event that says so (an error answer), never without a word. */
  async *events(): AsyncGenerator<Buffer> {
    const { plan, body } = this;
    try {
      for await (const part of sseParts(body, readLimit(plan))) {
        const bytes = part.isWhole ? await this.relayWhole(part.bytes) : await this.relayPiece(part.bytes);
        if (bytes !== undefined) yield bytes;
        // In a shared session nothing that comes after the answer belongs to this caller.
        if (this.isAnswered && plan.sentId !== undefined) break;
      }
      if (!this.isAnswered && !this.isResumable) throw endedWithoutAnswer();
    } catch (error) {
      const cause = brokenAnswer(error, plan);
      // If not even that can be recorded, then that is what broke it off.
      await plan.settle(outcomeOf(cause)).catch(() => undefined);
      const text = messageEvent(rpcErrorText(toProxyError(cause), plan.callerId, plan.requestId));
      // Behind half an event it would be taken for a part of it.
      yield this.cut === undefined ? text : Buffer.concat([Buffer.from('\n\n'), text]);
    } finally {
      discard(body);
      // A caller with a session of its own may read on in another request: how it ends is not seen here.
      await plan.settle({ status: 'error', errorCode: 'upstream_cancelled' }).catch(() => undefined);
    }
  }

  private async relayWhole(event: Buffer): Promise<Buffer | undefined> {
    const { rewriteEvent } = this.plan;
    const readdressed = rewriteEvent === undefined ? event : rewriteEvent(event);
    return readdressed && this.relayEvent(readdressed);
  }

  private async relayEvent(event: Buffer): Promise<Buffer | undefined> {
    const { plan } = this;
    const data = dataOf(event);
    // The stream of a shared session is not one that its callers can resume.
    if (plan.sentId === undefined && EVENT_ID.test(event.toString('utf8'))) this.isResumable = true;
    if (data === undefined && plan.filter === undefined) return event;
    if (data === undefined || data === '') return eventAnew(event, data);
    if (saysToolsChanged(event)) plan.onListChanged();
    if (isAnswer(event, data, plan)) {
      const { body, outcome, message } = completeAnswer(Buffer.from(data), plan);
      this.isAnswered = true;
      await plan.settle(outcome, message);
      return plan.filter === undefined ? withData(event, body.toString()) : eventAnew(event, body.toString());
    }
    if (plan.filter !== undefined) return this.otherFiltered(event, data, plan.filter);
    if (plan.sentId === undefined) return event;
    // In a shared session a request of the upstream is nobody's: no caller declared that it could answer one. And an answer
    // to something else would be taken for one of another upstream, by a caller who tells them apart by the id alone.
    if (isNobodys(data)) return undefined;
    return replaceAll(event, Buffer.from(plan.sentId), Buffer.from(plan.callerId));
  }

  /** What is not the answer, for a caller who may not see everything; undefined for what cannot be judged. */
  private otherFiltered(event: Buffer, data: string, filter: CallerFilter): Buffer | undefined {
    const { sentId, callerId } = this.plan;
    const message = parseMessage(data);
    if (message === undefined || (sentId !== undefined && 'id' in message)) return undefined;
    const text = messageAnew(message, filter);
    if (text === undefined) return undefined;
    return eventAnew(event, sentId === undefined ? text : text.replaceAll(sentId, () => callerId));
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
    // In a session of its own a caller who may see everything may be asked something, under whatever id.
    const isWatched = sentId !== undefined || filter !== undefined;
    if (isWatched && (data === undefined || !isOneLine(data) || !answered.push(data))) throw notTheAnswer();
    this.cut.last = Buffer.concat([last, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
    const isLast = endsEvent(bytes);
    const piece = filter === undefined || data === undefined ? bytes : this.harmless(bytes, data, isLast);
    const replaced = replacement?.push(piece) ?? piece;
    if (!isLast) return replaced;
    if (filter !== undefined && !answered.found) throw notTheAnswer();
    const isAboutIt = replacement?.found !== false;
    if (isAboutIt && !METHOD_FIRST.test(first.toString('utf8'))) {
      this.isAnswered = true;
      await plan.settle(judgeEnds(first, this.cut.last));
    }
    this.cut = undefined;
    return replacement === undefined ? replaced : Buffer.concat([replaced, replacement.flush()]);
  }

  /** A piece of an answer that is too large to be read, as a caller gets it who may not see everything. */
  private harmless(piece: Buffer, data: Buffer, isLast: boolean): Buffer {
    // Of the first piece, what stands before the data is written anew.
    const head = piece === data ? [] : [Buffer.from(`${eventHead(piece)}data:`)];
    let text = data;
    for (const replacement of this.lineEnds) {
      text = replacement.push(text);
      if (isLast) text = Buffer.concat([text, replacement.flush()]);
    }
    return Buffer.concat([...head, text]);
  }
}

/** Up to how many bytes an event is gathered; undefined for as much as may be parsed. */
function readLimit({ filter, isList, rewriteEvent }: RelayPlan): number | undefined {
  if (rewriteEvent !== undefined || (filter !== undefined && isList)) return undefined;
  return filter === undefined ? GATHERED_BYTES : MAX_READ_BYTES;
}

function isAnswer(event: Buffer, data: string, plan: RelayPlan): boolean {
  const { sentId, filter } = plan;
  const names = sentId === undefined ? data.includes('"result"') || data.includes('"error"') : event.includes(sentId);
  // Keys and ids may be written with escapes, which nobody looks for where nothing is kept from the caller.
  if (!names && filter === undefined) return false;
  const message = parseMessage(data);
  // With a unique id there will be no better one.
  return message === undefined ? names && sentId !== undefined : isResponse(message, plan);
}

/** Is it no notification? Only the parsed message tells: a key may be written with escapes. */
function isNobodys(data: string): boolean {
  if (data === '') return false;
  const message = parseMessage(data);
  return message === undefined || 'id' in message;
}

/** From the beginning of the data on; undefined if there is none. */
function afterData(event: Buffer): Buffer | undefined {
  const at = event.toString('latin1').search(DATA_LINE);
  return at === -1 ? undefined : event.subarray(at + 'data:'.length);
}

/** Is this piece of an event's data all on the line that it began on? Else other lines might hold another message. */
function isOneLine(data: Buffer): boolean {
  return !/[\r\n]/.test(data.toString('latin1').replace(/[\r\n]{1,4}$/, ''));
}

function endedWithoutAnswer(): UpstreamError {
  return new UpstreamError('protocol', 'The upstream ended its answer without a response to the request.');
}
