import type { OwnRoom } from '../../core/answers/answer-room.js';
import type { UpstreamAnswer } from '../messages/upstream-channel.js';
import type { UpstreamError } from '../contract/upstream-error.js';
import { EventStream } from '../messages/sse-parts.js';

/** An answer of JSON text, or without a body. */
export function plainAnswer(status: number, json?: Buffer): UpstreamAnswer {
  const contentType = json === undefined ? undefined : 'application/json';
  return { status, contentType, headers: {}, body: json ?? Buffer.alloc(0) };
}

export function streamAnswer(body: EventStream): UpstreamAnswer {
  return { status: 200, contentType: 'text/event-stream', headers: {}, body };
}

/**
 * One request to a program, from its line to its response. The answer is JSON unless other messages precede the
 * response.
 */
export class StdioExchange {
  readonly answer: Promise<UpstreamAnswer>;
  private readonly outcome = Promise.withResolvers<UpstreamAnswer>();
  private stream: EventStream | undefined;

  /**
   * @param id of the request, as JSON text
   * @param progressToken of the request, as JSON text
   * @param onAbandoned called when the answer is no longer read
   * @param openRoom see `EventStream`
   */
  constructor(
    readonly id: string,
    readonly progressToken: string | undefined,
    private readonly onAbandoned: () => void,
    private readonly openRoom: () => OwnRoom,
  ) {
    this.answer = this.outcome.promise;
  }

  /** Relays a message that precedes the response. */
  relay(line: Buffer): void {
    if (this.stream === undefined) {
      this.stream = new EventStream(this.openRoom);
      // Without a listener, an error would end this process.
      this.stream.on('error', () => undefined);
      this.stream.once('close', this.onAbandoned);
      this.outcome.resolve(streamAnswer(this.stream));
    }
    this.stream.send(line);
  }

  respond(line: Buffer): void {
    if (this.stream === undefined) return this.outcome.resolve(plainAnswer(200, line));
    this.stream.send(line);
    this.stream.finish();
  }

  fail(error: UpstreamError): void {
    this.outcome.reject(error);
    this.stream?.destroy(error);
  }
}
