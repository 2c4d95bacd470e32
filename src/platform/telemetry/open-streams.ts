import { Injectable } from '@nestjs/common';
import { Metering } from './open-telemetry.js';
import { STREAMS_OPEN } from './names.js';

/** Counts the open event streams of this process. */
@Injectable()
export class OpenStreams {
  private count = 0;
  private readonly uncount = (): void => {
    this.count -= 1;
  };

  constructor({ meter }: Metering) {
    meter
      .createObservableUpDownCounter(STREAMS_OPEN, { description: 'Open event streams of threads.' })
      .addCallback((result) => result.observe(this.count));
  }

  /** Counts a stream. Call the returned function once, when the stream closes. */
  open(): () => void {
    this.count += 1;
    return this.uncount;
  }
}
