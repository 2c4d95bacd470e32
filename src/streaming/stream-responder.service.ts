import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OpenCredentials } from '../api-keys/open-credentials.js';
import type { Principal } from '../common/principal.js';
import { AppConfig } from '../config/app-config.js';
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

  /** @throws DomainError `stream_expired` before anything is written */
  async respond(stream: RunStream, { caller, request, reply }: StreamExchange): Promise<void> {
    const abort = new AbortController();
    const leave = (): void => abort.abort(new ReaderGoneError());
    reply.raw.once('close', leave);
    const unwatch = this.credentials.watch(caller, leave);
    try {
      const frames = stream.frames(abort.signal);
      const beginning = frames.next();
      // A run that has expired is told by the status line; one that has not begun gets its headers at once.
      if (stream.mayHaveExpired) await beginning;
      const response = SseResponse.open(reply);
      const stopTicking = this.keepAlive(response, stream, caller, abort);
      try {
        for (let next = await beginning; next.done !== true; next = await frames.next())
          await response.write(next.value);
      } catch (error) {
        if (!(error instanceof StreamLostError)) throw error;
        await response.write(LOST_FRAME + DONE_FRAME);
      } finally {
        stopTicking();
      }
      response.end();
    } catch (error) {
      if (!reply.raw.headersSent) throw error;
      if (!(error instanceof ReaderGoneError))
        this.logger.warn({ request_id: request.id, err: error }, 'A stream broke off');
      reply.raw.destroy();
    } finally {
      unwatch();
      stream.close();
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
