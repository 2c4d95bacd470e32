import { Injectable } from '@nestjs/common';
import { type Histogram, type Span, SpanStatusCode } from '@opentelemetry/api';
import { DomainError } from '../../core/domain-error.js';
import { ERROR_TYPE, FILE_BYTES, FILE_OPERATION, FILE_STORE, FILE_TRANSFER_SIZE, NOT_LISTED } from './names.js';
import { Metering, Tracing } from './open-telemetry.js';

/** Powers of four from 1 KiB to 16 MiB. */
const SIZE_BOUNDARIES = Array.from({ length: 8 }, (_, power) => 1024 * 4 ** power);

/** What is done with the bytes of a file, and where they lie. */
export interface FileOperation {
  readonly operation: 'read' | 'write';
  readonly store: 'postgresql' | 's3';
}

/** Observes transfers between this process and the store of files: metrics always, spans if tracing is enabled. */
@Injectable()
export class FileTelemetry {
  private readonly sizes: Histogram;

  constructor(
    { meter }: Metering,
    private readonly tracing: Tracing,
  ) {
    this.sizes = meter.createHistogram(FILE_TRANSFER_SIZE, {
      unit: 'By',
      description: 'Bytes that were read from or written to the store of files, for each transfer.',
      advice: { explicitBucketBoundaries: SIZE_BOUNDARIES },
    });
  }

  /** Starts to observe a transfer, as a part of the request or run that is active. */
  begin({ operation, store }: FileOperation): FileTransfer {
    const labels = { [FILE_OPERATION]: operation, [FILE_STORE]: store };
    const span = this.tracing.tracer?.startSpan(`${operation}_file`, { attributes: labels });
    return new FileTransfer(span, (bytes, failure) => this.sizes.record(bytes, { ...labels, ...failure }));
  }
}

/** One transfer that is being observed. */
class FileTransfer {
  private bytes = 0;

  constructor(
    private readonly span: Span | undefined,
    private readonly record: (bytes: number, failure: { [ERROR_TYPE]?: string }) => void,
  ) {}

  async *count(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const buffer of source) {
      this.bytes += buffer.length;
      yield buffer;
    }
  }

  /** Call once. A reader that leaves early is not a failure. */
  succeed(): void {
    this.record(this.bytes, {});
    this.span?.setAttribute(FILE_BYTES, this.bytes).end();
  }

  fail(error: unknown): void {
    const code = error instanceof DomainError ? error.code : NOT_LISTED;
    this.record(this.bytes, { [ERROR_TYPE]: code });
    this.span?.setAttribute(FILE_BYTES, this.bytes).setAttribute(ERROR_TYPE, code);
    this.span?.setStatus({ code: SpanStatusCode.ERROR }).end();
  }
}
