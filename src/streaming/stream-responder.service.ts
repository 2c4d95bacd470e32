import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OpenCredentials } from '../api-keys/open-credentials.js';
import type { Principal } from '../common/principal.js';
import { AppConfig } from '../config/app-config.js';
import { StreamExpiredError } from '../events/run-event-errors.js';
import { LostStreamService } from './lost-stream.service.js';
import { DONE_FRAME, type RunStream } from './run-stream.js';
import { ReaderGoneError, SseResponse } from './sse-response.js';

const LOST_FRAME = `data: ${JSON.stringify({ type: 'error', errorText: 'The live stream of this run was lost; read the transcript.' })}\n\n`;

/** The HTTP exchange that a stream is written to. */
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
    private readonly lost: LostStreamService,
  ) {}

  async respond(stream: RunStream, { caller, request, reply }: StreamExchange): Promise<void> {
    const abort = new AbortController();
    const leave = (): void => abort.abort(new ReaderGoneError());
    reply.raw.once('close', leave);
    // The reader may have left while the stream was being opened.
    if (reply.raw.destroyed) leave();
    const response = SseResponse.open(reply);
    const unwatch = this.credentials.watch(caller, () => reply.raw.destroy());
    const stopTicking = this.keepAlive(response, stream, caller, abort);
    try {
      await this.carry(stream, response, abort.signal);
      response.end();
    } catch (error) {
      if (!(error instanceof ReaderGoneError)) {
        this.logger.warn({ request_id: request.id, err: error }, 'A stream broke off');
      }
      reply.raw.destroy();
    } finally {
      stopTicking();
      unwatch();
      stream.close();
    }
  }

  private async carry(stream: RunStream, response: SseResponse, signal: AbortSignal): Promise<void> {
    try {
      for await (const frames of stream.frames(signal)) await response.write(frames);
    } catch (error) {
      if (!(error instanceof StreamLostError || error instanceof StreamExpiredError)) throw error;
      await response.write(LOST_FRAME + DONE_FRAME);
    }
  }

  /** Sends keep-alives, and looks whether the run that is carried will ever end its stream. */
  private keepAlive(response: SseResponse, stream: RunStream, caller: Principal, abort: AbortController): () => void {
    const tick = async (): Promise<void> => {
      response.keepAlive();
      if (stream.current === undefined) return;
      if (await this.lost.isLost(caller.organization.id, stream.current)) abort.abort(new StreamLostError());
    };
    // A look that fails is repeated at the next tick.
    const timer = setInterval(() => void tick().catch(() => undefined), this.config.settings.streamKeepAliveMs);
    return () => clearInterval(timer);
  }
}

class StreamLostError extends Error {
  override readonly name = 'StreamLostError';
}
