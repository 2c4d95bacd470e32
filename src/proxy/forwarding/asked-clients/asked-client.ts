import { Readable } from 'node:stream';
import { type ClientCapabilities, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { CallDeadline } from '../../../upstreams/contract/call-deadline.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type {
  AnsweringClient,
  RequestReceiver,
  UpstreamRequest,
} from '../../../upstreams/contract/upstream-request.js';
import { chunksOf, wholeOf } from '../../../upstreams/messages/answer-body.js';
import { endsEvent, messageEvent } from '../../../upstreams/messages/sse-parts.js';
import { answers, toSessionRequest } from '../../protocol/client-capabilities.js';
import { type Sent, type MessageSender, uniqueId, UpstreamSender } from '../upstream-sender.js';
import { noAnswer, type OpenRequest, MAX_QUESTION_SIZE, MAX_QUESTIONS, OpenRequests } from './open-requests.js';
import { Injectable } from '@nestjs/common';
import { takesStream } from '../../protocol/inbound-message.js';
import { canAsk } from '../../protocol/json-rpc-error.js';
import type { McpRequestContext } from '../upstream-router.js';

const EVENT_STREAM = 'text/event-stream';
/** How many requests and withdrawals can be on their way to a client that does not read. */
const MAX_UNSENT = 2 * MAX_QUESTIONS;
/** How many requests of one call an upstream can take back: the client may answer each of them later. */
const MAX_TAKEN_BACK = 256;

/** The client's request that can be asked for input. */
export interface AskingCall {
  /** The id that the upstream knows, as JSON text. */
  readonly sentId: string;
  readonly capabilities: ClientCapabilities;
  /** Of the client's request, which the call keeps. */
  readonly size: number;
  /** True if the answer can be an event stream. */
  readonly acceptsStream: boolean;
  /** Does not run while the client is asked. */
  readonly deadline: CallDeadline;
  /** Awaits the client's answer to a request. @param size of what is kept until then @throws UpstreamError `busy` */
  readonly openRequest: (size: number) => OpenRequest;
}

/** A request on its way to the client. */
interface AskedQuestion {
  /** Of the upstream. */
  readonly key: string;
  readonly id: string;
  /** Without its id. */
  readonly text: string;
  readonly request: OpenRequest;
}

/**
 * The client of one call, up to 2025-11-25. What an upstream asks for becomes requests on the event stream that answers
 * the call, between the messages of the upstream: in the modern era what its results ask for, in the legacy era its
 * requests.
 */
export class AskedClient implements AnsweringClient, RequestReceiver {
  /** Those whose answers are awaited. The time limit of the call runs while there are none. */
  private readonly waiting = new Set<AskedQuestion>();
  /** Of those that the client has not answered. */
  private readonly ids = new Set<unknown>();
  private readonly unsent: Buffer[] = [];
  /** Resolved when there is a request to send. Replaced in each turn: until then it would keep every reaction. */
  private hasUnsent = Promise.withResolvers<undefined>();
  private isOver = false;

  constructor(private readonly call: AskingCall) {}

  get capabilities(): ClientCapabilities {
    return this.call.capabilities;
  }

  /** True if the client can be asked. */
  get isWaitedFor(): boolean {
    return !this.isOver && this.call.acceptsStream;
  }

  async answerRequests(requests: Readonly<Record<string, UpstreamRequest>>): Promise<Record<string, object>> {
    if (this.isOver) throw noAnswer();
    return this.ask(requests);
  }

  async receiveRequest(request: UpstreamRequest, cancelled?: AbortSignal): Promise<object | undefined> {
    if (this.isOver || cancelled?.aborted === true) return undefined;
    const { only } = await this.ask({ only: request }, cancelled);
    return only;
  }

  /** Returns the answer of the upstream, or a stream that begins with what the client is asked before it. */
  async begin(sending: Promise<Sent>): Promise<Sent> {
    const first = await Promise.race([sending, this.hasUnsent.promise]).catch((error: unknown) => {
      this.end();
      throw error;
    });
    if (first !== undefined && first.answer.canAsk !== true) return first;
    // A call that is cancelled before it is read has no other handler.
    sending.catch(() => undefined);
    const body = Readable.from(this.relay(sending), { objectMode: false });
    // A stream that is destroyed before it is read emits an error too, which would end the process without a listener.
    body.on('error', () => undefined);
    body.once('close', () => this.end());
    return {
      ...first,
      answer: { status: 200, headers: {}, ...first?.answer, contentType: EVENT_STREAM, body },
      sentId: this.call.sentId,
      ownRequests: this.ids,
    };
  }

  /** Call when the call is over. */
  end(): void {
    this.isOver = true;
    this.close(this.waiting);
  }

  /** Asks for everything or for nothing, and withdraws what is left if the client fails to answer. */
  private async ask(
    requests: Readonly<Record<string, UpstreamRequest>>,
    cancelled?: AbortSignal,
  ): Promise<Record<string, object>> {
    const asked = this.open(requests);
    const close = (): void => this.close(asked);
    cancelled?.addEventListener('abort', close, { once: true });
    this.call.deadline.lift();
    for (const { id, text } of asked) this.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${text.slice(1)}`);
    try {
      const answers = asked.map(async ({ key, request }) => [key, await request.answer] as const);
      return Object.fromEntries(await Promise.all(answers));
    } finally {
      cancelled?.removeEventListener('abort', close);
      close();
    }
  }

  private open(requests: Readonly<Record<string, UpstreamRequest>>): AskedQuestion[] {
    const texts = Object.entries(requests).map(([key, request]) => [key, this.textFor(request)] as const);
    const isTooMany =
      this.waiting.size + texts.length > MAX_QUESTIONS ||
      this.unsent.length + texts.length > MAX_UNSENT ||
      this.ids.size + texts.length > MAX_QUESTIONS + MAX_TAKEN_BACK;
    if (isTooMany || texts.some(([, text]) => text.length > MAX_QUESTION_SIZE)) {
      throw new UpstreamError('protocol', 'The upstream asks for more than the service passes on.');
    }
    const opened: AskedQuestion[] = [];
    try {
      for (const [key, text] of texts) {
        // Each one keeps the client's request too, since any of them can be the last.
        const request = this.call.openRequest(text.length + this.call.size);
        opened.push({ key, text, id: request.id, request });
      }
    } catch (error) {
      for (const { request } of opened) request.close();
      throw error;
    }
    for (const question of opened) {
      this.waiting.add(question);
      this.ids.add(question.id);
    }
    return opened;
  }

  /** Ends the wait for these, and withdraws those that the client has not answered. */
  private close(asked: Iterable<AskedQuestion>): void {
    for (const question of asked) {
      if (!this.waiting.delete(question)) continue;
      const { id, request } = question;
      if (request.isAnswered) this.ids.delete(id);
      else this.send(withdrawal(id));
      request.close();
      if (this.waiting.size === 0) this.call.deadline.restart();
    }
  }

  /** @param text of a JSON-RPC message */
  private send(text: string): void {
    this.unsent.push(messageEvent(text));
    this.hasUnsent.resolve(undefined);
  }

  /** @throws ProtocolError */
  private textFor(request: UpstreamRequest): string {
    const { capabilities, acceptsStream } = this.call;
    if (!answers(capabilities, request)) {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'The client has not declared that it answers this.');
    }
    if (!acceptsStream) {
      const message = 'The upstream asks for input, which needs `Accept: text/event-stream`.';
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, message);
    }
    return JSON.stringify(toSessionRequest(request));
  }

  /** Returns what the client gets before the end of the call, which waits for none of its answers. */
  private withdrawAll(): Buffer[] {
    this.close(this.waiting);
    return this.unsent.splice(0);
  }

  private async *relay(sending: Promise<Sent>): AsyncGenerator<Buffer> {
    const chunks = chunksIn(sending);
    let reading: Promise<IteratorResult<Buffer, void>> | undefined;
    let isBetweenEvents = true;
    try {
      for (;;) {
        if (isBetweenEvents && this.unsent.length > 0) {
          yield Buffer.concat(this.unsent.splice(0));
          continue;
        }
        reading ??= chunks.next();
        this.hasUnsent = Promise.withResolvers();
        const next = await Promise.race([reading, ...(isBetweenEvents ? [this.hasUnsent.promise] : [])]);
        if (next === undefined) continue;
        reading = undefined;
        if (next.done === true) return;
        const isAsking = isBetweenEvents && this.waiting.size > 0;
        if (isAsking && next.value.includes(this.call.sentId)) yield* this.withdrawAll();
        yield next.value;
        isBetweenEvents = endsEvent(next.value);
      }
    } catch (error) {
      if (isBetweenEvents) yield* this.withdrawAll();
      throw error;
    } finally {
      // What is still read ends with the call.
      reading?.catch(() => undefined);
      void chunks.return().catch(() => undefined);
    }
  }
}

/** MCP 2025-11-25, "Cancellation". @param id of a request that is not awaited any more */
function withdrawal(id: string): string {
  const params = { requestId: id, reason: 'The answer is not awaited any more.' };
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
}

/** The bytes of an answer as an event stream. */
async function* chunksIn(sending: Promise<Sent>): AsyncGenerator<Buffer, void> {
  const { answer } = await sending;
  if (answer.contentType === EVENT_STREAM) {
    for await (const chunk of chunksOf(answer.body)) yield chunk;
    return;
  }
  const tooLarge = (): Error => new UpstreamError('protocol', 'The answer is too large.');
  yield messageEvent((await wholeOf(answer.body, tooLarge)).toString('utf8'));
}

/**
 * Sends callers' messages upstream. An upstream can ask the client of a session up to 2025-11-25 that declares to
 * answer. In the modern era, results that ask for input become requests to the client, and its answers are brought to
 * the upstream by repeating the call. In the legacy era, a program sends requests of its own during the call, in a
 * session that declares what the client does.
 */
@Injectable()
export class AskedClients implements MessageSender {
  constructor(
    private readonly upstream: UpstreamSender,
    private readonly requests: OpenRequests,
  ) {}

  sendMessage(context: McpRequestContext, headers: Readonly<Record<string, string>>): Promise<Sent> {
    const { route, message, caller, request, deadline } = context;
    const session = route.kind === 'pooled' ? route.session : undefined;
    const capabilities = session?.answers;
    // A call that the service makes as a task would be kept for as long as the client can be asked.
    const isAskable = message.kind === 'request' && canAsk(message.method) && !caller.callsAsTask;
    if (session === undefined || capabilities === undefined || !isAskable) {
      return this.upstream.sendMessage(context, headers);
    }
    const sentId = uniqueId();
    const client = new AskedClient({
      sentId,
      capabilities,
      acceptsStream: takesStream(request.headers),
      deadline,
      size: message.body.length,
      openRequest: (size) => this.requests.openRequest(session, caller, size),
    });
    deadline.onStop(() => client.end());
    const isDeclared = route.kind === 'pooled' && route.owner?.capabilities !== undefined;
    const asking = { ...context, sentId, answeringClient: client, ...(isDeclared && { receiver: client }) };
    return client.begin(this.upstream.sendMessage(asking, headers));
  }
}
