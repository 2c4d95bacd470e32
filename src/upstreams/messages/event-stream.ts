import { Readable } from 'node:stream';
import { UpstreamError } from '../contract/upstream-error.js';

/** How many bytes a reader can be behind before the stream is destroyed; one further message can be buffered. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/** Server-sent events (WHATWG HTML §9.2), one for each message. */
export class EventStream extends Readable {
  // Data is pushed when it arrives.
  override _read(): void {}

  /** Returns false if the stream has ended or its reader is too slow. @param line JSON text without line breaks */
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
