import { Injectable } from '@nestjs/common';
import { Metering } from './metering.js';
import { STREAMS_OPEN } from './names.js';

/** How many event streams of runs this process has open. */
@Injectable()
export class OpenStreams {
  private count = 0;

  constructor({ meter }: Metering) {
    meter
      .createObservableUpDownCounter(STREAMS_OPEN, { description: 'Open event streams of threads.' })
      .addCallback((result) => result.observe(this.count));
  }

  /** Counts a stream; call what is returned once, when it is closed. */
  open(): () => void {
    this.count += 1;
    return () => {
      this.count -= 1;
    };
  }
}
