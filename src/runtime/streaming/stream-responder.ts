import type { ServerResponse } from 'node:http';
import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { once } from 'node:events';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import { AnswerBudget, type HeldAnswer } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { AppConfig } from '../../core/config/app-config.js';
import { OpenStreams } from '../../platform/telemetry/open-streams.js';
import type { RunStream } from './run-stream.js';
import { StreamEnding } from './stream-ending.js';

/** Chunks of `ai`. */
const UI_MESSAGE_STREAM = { 'x-vercel-ai-ui-message-stream': 'v1' };

/** The HTTP request and response of a stream. */
interface StreamExchange {
  caller: Principal;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** Writes a stream to its reader until it ends, the reader leaves, or the reader's credential is revoked. */
@Injectable()
export class StreamResponder {
  private readonly logger = new Logger(StreamResponder.name);

  constructor(
    private readonly config: AppConfig,
    private readonly credentials: OpenCredentials,
    private readonly ending: StreamEnding,
    private readonly budget: AnswerBudget,
    private readonly streams: OpenStreams,
  ) {}

  /**
   * Sends the headers, and returns: a request in progress would hold the objects of every caller up to the router.
   * @param headers that say what the frames are
   */
  respond(
    stream: RunStream,
    { caller, request, reply }: StreamExchange,
    headers: Readonly<Record<string, string>> = UI_MESSAGE_STREAM,
  ): void {
    const { raw } = reply;
    // Also makes the frames end.
    raw.on('close', () => stream.close());
    // The reader may have disconnected while the stream was being opened.
    if (raw.destroyed) return stream.close();
    void reply.headers(headers);
    const response = SseResponse.open(reply, () => this.budget.openAnswer(caller));
    void this.write(stream, response, { caller, requestId: request.id, raw });
  }

  private async write(
    stream: RunStream,
    response: SseResponse,
    { caller, requestId, raw }: { caller: Principal; requestId: string; raw: ServerResponse },
  ): Promise<void> {
    const uncount = this.streams.open();
    const unwatch = this.credentials.watchPermissions(caller, () => raw.destroy());
    const stopTicking = this.keepAlive(response, stream, caller);
    try {
      for await (const frames of stream.frames()) await response.write(frames);
      response.end();
    } catch (error) {
      if (!raw.destroyed) this.logger.warn({ request_id: requestId, err: error }, 'A stream ended early');
      raw.destroy();
    } finally {
      stopTicking();
      unwatch();
      uncount();
      stream.close();
    }
  }

  /** Every few seconds: sends a keep-alive, and checks whether a worker will end the stream of the current run. */
  private keepAlive(response: SseResponse, stream: RunStream, caller: Principal): () => void {
    const timer = setInterval(() => {
      response.keepAlive();
      const { current } = stream;
      // A failed check is repeated at the next tick.
      if (current !== undefined) void this.endIfAbandoned(stream, current, caller).catch(() => undefined);
    }, this.config.settings.streamKeepAliveMs);
    return () => clearInterval(timer);
  }

  private async endIfAbandoned(stream: RunStream, runId: string, caller: Principal): Promise<void> {
    if (await this.ending.isAbandoned(caller.organization.id, runId)) stream.giveUpWaiting(runId);
  }
}

/** A reader that reads nothing for this long is disconnected; it can resume from its last id. */
const SLOW_READER_MS = 30_000;

/** The memory of one buffered character of frames: the text, and its encoding in the socket. */
const HELD_PER_CHARACTER = 3;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
};
/**
 * A Server-Sent Events response (WHATWG HTML §9.2) with backpressure. It disconnects a reader that reads nothing, and a
 * slow reader when no memory is left to buffer for it.
 */
export class SseResponse {
  private constructor(
    private readonly raw: ServerResponse,
    private readonly openAnswer: () => HeldAnswer,
  ) {}

  /**
   * Sends the headers at once and takes over the response.
   * @param openAnswer opens the budget that holds the memory of a slow reader
   */
  static open(reply: FastifyReply, openAnswer: () => HeldAnswer): SseResponse {
    reply.hijack();
    reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
    reply.raw.flushHeaders();
    return new SseResponse(reply.raw, openAnswer);
  }

  /** Resolves when there is room for more. @throws ReaderGoneError when the reader has left or was too slow */
  async write(text: string): Promise<void> {
    if (!this.raw.destroyed && !this.raw.write(text)) await this.drainWithin(text.length * HELD_PER_CHARACTER);
    if (this.raw.destroyed) throw new ReaderGoneError();
  }

  /** A comment that keeps proxies from closing an idle connection; skipped while the last write is still buffered. */
  keepAlive(): void {
    if (!this.raw.destroyed && !this.raw.writableNeedDrain) this.raw.write(': keep-alive\n\n');
  }

  end(): void {
    this.raw.end();
  }

  /** Waits for the reader, or disconnects it if there is no memory to buffer its frames. */
  private async drainWithin(bytes: number): Promise<void> {
    const answer = this.openAnswer();
    try {
      answer.reserve(bytes);
    } catch {
      this.raw.destroy();
      return;
    }
    try {
      await this.drained();
    } finally {
      answer.release();
    }
  }

  /** Resolves when the reader has read everything written, or has disconnected. */
  private async drained(): Promise<void> {
    const tooSlow = setTimeout(() => this.raw.destroy(), SLOW_READER_MS);
    const settled = new AbortController();
    const { signal } = settled;
    try {
      await Promise.race([once(this.raw, 'drain', { signal }), once(this.raw, 'close', { signal })]);
    } finally {
      clearTimeout(tooSlow);
      settled.abort();
    }
  }
}

export class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
}
