import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/periodic-task.js';
import { OauthRecordsRepository } from './records/oauth-records.repository.js';

const SWEEP_EVERY_MS = 10 * 60_000;

/** Deletes expired tokens, codes and sessions, and clients that were registered but never used. */
@Injectable()
export class OauthSweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(OauthSweeper.name);
  private readonly sweeps = new PeriodicTask(() => this.sweep(), {
    pauseMs: SWEEP_EVERY_MS,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot delete expired OAuth records; retrying'),
  });

  constructor(private readonly records: OauthRecordsRepository) {}

  onApplicationBootstrap(): void {
    this.sweeps.start();
  }

  onApplicationShutdown(): void {
    void this.sweeps.stop();
  }

  private async sweep(): Promise<void> {
    while (await this.records.sweep());
  }
}
