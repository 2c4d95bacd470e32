import { Injectable } from '@nestjs/common';
import { ModelHealth } from '../../agents/models/model-health.js';
import { ModelsService } from '../../agents/models/models.service.js';
import { throughOutage } from '../../core/through-outage.js';
import { type ClaimedRun, claimOf } from '../runs/records/new-run.js';
import { RunSpending } from '../runs/records/run-spending.js';
import { ModelPayments } from './model-payments.js';
import { RunModels } from './run-models.js';

/** Finds the models of an attempt, with what they need from outside. */
@Injectable()
export class RunModelsFactory {
  constructor(
    private readonly models: ModelsService,
    private readonly health: ModelHealth,
    private readonly spending: RunSpending,
  ) {}

  async resolveModels(run: ClaimedRun): Promise<RunModels> {
    const served = await throughOutage(() => this.models.resolveModels(run.organizationId, run.tier));
    return new RunModels(served, this.health, new ModelPayments(claimOf(run), this.spending));
  }
}
