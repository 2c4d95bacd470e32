import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OpenCredentials } from '../credentials/open-credentials.js';
import { AnswerBudget } from '../common/answers/answer-budget.js';
import type { Principal } from '../common/principal.js';
import { AppConfig } from '../config/app-config.js';
import { OpenStreams } from '../telemetry/open-streams.js';
import type { RunStream } from './run-stream.js';
import { ReaderGoneError, SseResponse } from './sse-response.js';
import { StreamEnding } from './stream-ending.js';

/** The HTTP request and response of a stream. */
export interface StreamExchange {
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

  async respond(stream: RunStream, { caller, request, reply }: StreamExchange): Promise<void> {
    const abort = new AbortController();
    const leave = (): void => abort.abort(new ReaderGoneError());
    reply.raw.once('close', leave);
    // The reader may have disconnected while the stream was being opened.
    if (reply.raw.destroyed) leave();
    const response = SseResponse.open(reply, () => this.budget.openAnswer(caller));
    const uncount = this.streams.open();
    const unwatch = this.credentials.watchPermissions(caller, () => reply.raw.destroy());
    const stopTicking = this.keepAlive(response, stream, caller);
    try {
      for await (const frames of stream.frames(abort.signal)) await response.write(frames);
      response.end();
    } catch (error) {
      if (!(error instanceof ReaderGoneError)) {
        this.logger.warn({ request_id: request.id, err: error }, 'A stream ended early');
      }
      reply.raw.destroy();
    } finally {
      stopTicking();
      unwatch();
      uncount();
      stream.close();
    }
  }

  /** Sends keep-alives, and checks whether a worker will end the stream of the current run. */
  private keepAlive(response: SseResponse, stream: RunStream, caller: Principal): () => void {
    const tick = async (): Promise<void> => {
      response.keepAlive();
      const { current } = stream;
      if (current === undefined) return;
      if (await this.ending.isAbandoned(caller.organization.id, current)) stream.giveUpWaiting(current);
    };
    // A failed check is repeated at the next tick.
    const timer = setInterval(() => void tick().catch(() => undefined), this.config.settings.streamKeepAliveMs);
    return () => clearInterval(timer);
  }
}
