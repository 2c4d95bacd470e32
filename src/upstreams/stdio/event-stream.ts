import { Readable } from 'node:stream';
import { UpstreamError } from '../contract/upstream-error.js';

/** Bytes that a reader may be behind before it is given up; one message more may be waiting for it. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/** Server-sent events (WHATWG HTML §9.2), one for each message. */
export class EventStream extends Readable {
  // What there is to read is pushed when it comes.
  override _read(): void {}

  /** @param line JSON text without line breaks; false when the stream is over, or its reader too slow */
  send(line: Buffer): boolean {
    if (this.destroyed) return false;
    if (this.readableLength > MAX_UNREAD_BYTES) {
      this.destroy(new UpstreamError('cancelled', 'The reader of the stream is too slow.'));
      return false;
    }
    this.push(Buffer.concat([Buffer.from('event: message\ndata: '), line, Buffer.from('\n\n')]));
    return true;
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }
}
