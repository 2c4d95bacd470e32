import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { TtlCache } from '../../core/ttl-cache.js';
import { withTimeout } from '../../core/with-timeout.js';
import { Metering } from '../../platform/telemetry/open-telemetry.js';
import { RUN_QUEUE_AGE, RUN_STATE, RUNS_OPEN } from '../../platform/telemetry/names.js';
import { type OpenRunCounts, OpenRuns } from './records/open-runs.js';

/** The database counts at most once in this time, in milliseconds, however many scrapers there are. */
const BELIEVED_MS = 5_000;
/** The other metrics do not wait longer for a database that does not answer. */
const PATIENCE_MS = 1_000;

/** Metrics of the run queue, counted in the database: every worker reports the numbers of the whole service. */
@Injectable()
export class RunQueueMetrics implements OnModuleInit {
  private readonly logger = new Logger(RunQueueMetrics.name);
  private readonly last = new TtlCache<OpenRunCounts | undefined>({ ttlMs: BELIEVED_MS, maxEntries: 1 });

  constructor(
    private readonly metering: Metering,
    private readonly runs: OpenRuns,
  ) {}

  onModuleInit(): void {
    const { meter } = this.metering;
    const open = meter.createObservableGauge(RUNS_OPEN, { description: 'Runs that are not over, by state.' });
    const age = meter.createObservableGauge(RUN_QUEUE_AGE, {
      unit: 's',
      description: 'How long the run that has waited longest for a worker has waited.',
    });
    meter.addBatchObservableCallback(
      async (result) => {
        const counts = await this.last.get('', () => this.count());
        if (counts === undefined) return;
        for (const state of ['queued', 'blocked', 'running', 'waiting'] as const) {
          result.observe(open, counts[state], { [RUN_STATE]: state });
        }
        result.observe(age, counts.oldestAge);
      },
      [open, age],
    );
  }

  /** Undefined while the database does not answer. */
  private async count(): Promise<OpenRunCounts | undefined> {
    try {
      return await withTimeout(this.runs.count(), PATIENCE_MS, () => undefined);
    } catch (error) {
      this.logger.warn({ err: error }, 'The open runs could not be counted');
      return undefined;
    }
  }
}
