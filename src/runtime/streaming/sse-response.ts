import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';

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
