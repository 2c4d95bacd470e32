import { Injectable } from '@nestjs/common';
import { ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import type { Principal } from '../../core/principal.js';
import { SpendWarnings } from '../../platform/limits/spend-warnings.js';
import { ModelTiersAnswer, ModelTiersChanged, ModelTiersGetInput, ModelTiersSetInput } from './model-tiers.dto.js';
import { ModelTiersService } from './model-tiers.service.js';

@Injectable()
export class ModelTiersTools {
  constructor(
    private readonly service: ModelTiersService,
    private readonly warnings: SpendWarnings,
  ) {}

  @ManagementTool({
    name: 'MODEL_TIERS_SET',
    description:
      'Sets which provider and model serve the tiers fast, smart and thinking. Absent tiers keep their value, null ' +
      'clears a tier; a tier without a value falls back to smart, then to the built-in model. A price (US dollars ' +
      'per million tokens) gives the runs that start from then on a cost; a target without a price removes it. ' +
      'Where the model fails in a way that another may not (it is unknown, overloaded, cannot be reached, or takes ' +
      'longer than first_chunk_timeout_s to begin), the fallbacks are called in their order.',
    input: ModelTiersSetInput,
    output: ModelTiersChanged,
    annotations: UPDATES,
  })
  async set(input: ModelTiersSetInput, caller: Principal): Promise<ModelTiersChanged> {
    const item = await this.service.set(input.data, caller);
    return { item, ...(await this.warnings.after(input.data, caller)) };
  }

  @ManagementTool({
    name: 'MODEL_TIERS_GET',
    description: 'Shows which models serve each tier, with what is set for each; null means not set.',
    input: ModelTiersGetInput,
    output: ModelTiersAnswer,
    annotations: READ_ONLY,
  })
  async get(_input: ModelTiersGetInput, caller: Principal): Promise<ModelTiersAnswer> {
    return { item: await this.service.get(caller) };
  }
}
