import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientCapabilities, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { AnsweredWithRoom } from '../../../core/answers/answer-room.js';
import { isRecord, parseRecord } from '../../../core/is-record.js';
import { CallDeadline, NO_LIMIT_MS } from '../../../upstreams/contract/call-deadline.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import {
  methodNotFound,
  type RequestReceiver,
  type UpstreamRequest,
} from '../../../upstreams/contract/upstream-request.js';
import { dataOf, messageEvent, sseParts } from '../../../upstreams/messages/sse-parts.js';
import { noAnswer, MAX_QUESTION_SIZE, MAX_QUESTIONS } from '../../forwarding/asked-clients/open-requests.js';
import type { Sent } from '../../forwarding/upstream-sender.js';
import { answers, toInputRequest } from '../../protocol/client-capabilities.js';
import { gather } from '../to-modern-answer.js';
import { notificationFor } from './call-notifications.js';

/** How long further requests that the upstream sends at once are waited for, so that the client gets all of them. */
const GATHER_MS = 50;

/** The client's request that waits for the call: the first one, or the latest that brought answers. */
export interface WaitingRequest {
  /** To the client, which waits for room if an answer is large. */
  readonly response: AnsweredWithRoom;
  /** `_meta` of the request. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly capabilities: ClientCapabilities;
  /** Translates the upstream's response to the call. */
  readonly translate: (text: string) => string;
  /**
   * Holds the call until the client repeats its request, and returns the `requestState`.
   * @throws UpstreamError `busy`
   */
  readonly hold: (call: HeldCall, bytes: number) => string;
  /** Called with the answer, under the id that the upstream knows. */
  readonly onAnswer: (text: string) => void;
}

/** A request of the upstream that the client has not answered. */
interface Question {
  readonly request: object;
  readonly answer: PromiseWithResolvers<object | undefined>;
  isAsked: boolean;
}

/**
 * A call at an upstream of the legacy era, whose requests the client of the modern era answers by repeating its own.
 * The call is `waited` for by a request of the client, then `asked`: no request waits, and the upstream is not read
 * until the client repeats its request, or `over`. A client that closes its request cancels a call that it waits for.
 */
export class HeldCall implements RequestReceiver {
  /** Of the exchange with the upstream. The client's requests have their own time limits. */
  readonly deadline = new CallDeadline(undefined, NO_LIMIT_MS);
  private state: 'waited' | 'asked' | 'over' = 'waited';
  private readonly questions = new Map<string, Question>();
  private count = 0;
  /**
   * Resolved when the upstream asks. Replaced in each turn: a promise keeps every reaction to it until it is settled.
   */
  private newQuestion = Promise.withResolvers<undefined>();
  private messages: AsyncGenerator<string> | undefined;
  private reading: Promise<IteratorResult<string, void>> | undefined;
  private sent: Sent | undefined;

  /**
   * @param sentId of the call at the upstream, as JSON text
   * @param waiting the latest request of the client
   */
  constructor(
    private readonly sentId: string,
    private waiting: WaitingRequest,
  ) {}

  get isWaitedFor(): boolean {
    return this.state === 'waited';
  }

  async receiveRequest(upstreamRequest: UpstreamRequest): Promise<object | undefined> {
    if (this.state === 'over') return undefined;
    const isAnswered = answers(this.waiting.capabilities, upstreamRequest);
    if (!isAnswered || this.questions.size === MAX_QUESTIONS) throw methodNotFound();
    const request = toInputRequest(upstreamRequest);
    if (JSON.stringify(request).length > MAX_QUESTION_SIZE) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The request is too large.');
    }
    const answer = Promise.withResolvers<object | undefined>();
    this.questions.set(`request_${++this.count}`, { request, answer, isAsked: false });
    this.newQuestion.resolve(undefined);
    return answer.promise;
  }

  /** Returns the upstream's answer if it is whole, otherwise the answer to the client's first request. */
  async begin(sending: Promise<Sent>): Promise<{ readonly whole: Sent } | { readonly held: Sent }> {
    // A server that answers with JSON can ask before it answers.
    const first = await Promise.race([sending, this.newQuestion.promise]).catch((error: unknown) => {
      this.end();
      this.deadline.end();
      throw error;
    });
    if (first !== undefined && first.answer.contentType !== 'text/event-stream') return { whole: first };
    this.messages = this.messagesOf(sending);
    // A call that is cancelled before it is read has no other handler.
    sending.catch(() => undefined);
    return { held: this.answerTo(this.waiting) };
  }

  /** Gives the client's answers to the upstream, and returns the answer to the request that brought them. */
  resume(responses: Readonly<Record<string, object>>, waiting: WaitingRequest): Sent {
    this.state = 'waited';
    this.waiting = waiting;
    for (const [key, question] of this.questions) {
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      // The client is asked again for what is missing.
      question.isAsked = false;
      if (response === undefined) continue;
      this.questions.delete(key);
      question.answer.resolve(response);
    }
    return this.answerTo(waiting);
  }

  /** Cancels the call at the upstream. */
  cancel(): void {
    this.end();
    this.deadline.cancel();
  }

  /** Cancels the call if this request of the client still waits for it. */
  cancelFor(waiting: WaitingRequest): void {
    if (this.state === 'waited' && this.waiting === waiting) this.cancel();
  }

  private answerTo(waiting: WaitingRequest): Sent {
    const body = Readable.from(this.relay(waiting), { objectMode: false });
    // A stream that is destroyed before it is read emits an error too, which would end the process without a listener.
    body.on('error', () => undefined);
    body.once('close', () => this.cancelFor(waiting));
    return { answer: { status: 200, contentType: 'text/event-stream', headers: {}, body }, sentId: this.sentId };
  }

  /** Yields the notifications for the client, then the response or the result that asks the client. */
  private async *relay(waiting: WaitingRequest): AsyncGenerator<Buffer> {
    let gathering: Promise<undefined> | undefined;
    for (;;) {
      const isAsking = [...this.questions.values()].some(({ isAsked }) => !isAsked);
      if (isAsking) gathering ??= sleep(GATHER_MS, undefined);
      this.newQuestion = Promise.withResolvers();
      const next = await Promise.race([this.read(), gathering ?? this.newQuestion.promise]);
      if (next === undefined) {
        if (gathering === undefined) continue;
        if (this.state !== 'over') yield this.ask(waiting);
        return;
      }
      this.reading = undefined;
      if (next.done === true) return;
      const event = this.eventFor(next.value, waiting);
      if (event !== undefined) yield event;
      if (this.state === 'over') return;
    }
  }

  private eventFor(text: string, waiting: WaitingRequest): Buffer | undefined {
    const message = parseRecord(text);
    if (message === undefined) return undefined;
    const { id, method, params } = message;
    if (typeof method !== 'string') {
      if (id !== JSON.parse(this.sentId)) return undefined;
      const answer = waiting.translate(text);
      this.end();
      this.deadline.end();
      waiting.onAnswer(answer);
      return messageEvent(answer);
    }
    if (typeof id === 'string' || typeof id === 'number') {
      this.sent?.answerRequest?.({ id, method, params: isRecord(params) ? params : undefined });
      return undefined;
    }
    const notification = notificationFor(message, waiting.meta);
    if (notification !== undefined) return messageEvent(JSON.stringify(notification));
    this.sent?.reportChange?.(message);
    return undefined;
  }

  private ask(waiting: WaitingRequest): Buffer {
    const requests = JSON.stringify(
      Object.fromEntries([...this.questions].map(([key, { request }]) => [key, request])),
    );
    const requestState = JSON.stringify(waiting.hold(this, requests.length));
    for (const question of this.questions.values()) question.isAsked = true;
    this.state = 'asked';
    const result = `{"resultType":"input_required","inputRequests":${requests},"requestState":${requestState}}`;
    const answer = `{"jsonrpc":"2.0","id":${this.sentId},"result":${result}}`;
    waiting.onAnswer(answer);
    return messageEvent(answer);
  }

  /** A message that is awaited when the client is asked is the first that the next request gets. */
  private read(): Promise<IteratorResult<string, void>> {
    if (this.messages === undefined) throw new Error('A call is read after it has begun.');
    this.reading ??= this.messages.next();
    // Nothing waits for it while the client is asked.
    this.reading.catch(() => undefined);
    return this.reading;
  }

  private async *messagesOf(sending: Promise<Sent>): AsyncGenerator<string, void> {
    this.sent = await sending;
    const { answer } = this.sent;
    const response = new LatestResponse(() => this.waiting.response);
    if (answer.contentType !== 'text/event-stream') {
      yield (await gather(answer.body, response)).toString('utf8');
      return;
    }
    for await (const { bytes, isWhole } of sseParts(answer.body, undefined, response)) {
      if (!isWhole) throw new UpstreamError('protocol', 'The answer is too large to translate.');
      const data = dataOf(bytes);
      if (data !== undefined) yield data;
    }
  }

  private end(): void {
    this.state = 'over';
    for (const { answer, isAsked } of this.questions.values()) {
      if (isAsked) answer.reject(noAnswer());
      else answer.resolve(undefined);
    }
    this.questions.clear();
    // Also lets go of the upstream's answer.
    void this.messages?.return(undefined).catch(() => undefined);
  }
}

/** The response to the request that waits now: a call has several. */
class LatestResponse implements AnsweredWithRoom {
  constructor(private readonly latest: () => AnsweredWithRoom) {}

  get request() {
    return this.latest().request;
  }

  get reply() {
    return this.latest().reply;
  }

  get rooms() {
    return this.latest().rooms;
  }
}
