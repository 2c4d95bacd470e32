import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import type { Principal } from '../../core/principal.js';
import {
  AiProviderAnswer,
  AiProviderCreateInput,
  AiProviderDeleteInput,
  AiProviderList,
  AiProviderListInput,
  AiProviderModels,
  AiProviderModelsInput,
  AiProviderTested,
  AiProviderTestInput,
  AiProviderUpdateInput,
} from './ai-provider.dto.js';
import { AiProviderService } from './ai-provider.service.js';
import { ProviderModelList } from './provider-model-list.js';
import { ProviderTester } from './provider-tester.js';

@Injectable()
export class AiProviderTools {
  constructor(
    private readonly service: AiProviderService,
    private readonly tester: ProviderTester,
    private readonly modelList: ProviderModelList,
  ) {}

  @ManagementTool({
    name: 'AI_PROVIDER_CREATE',
    description:
      'Adds an AI provider. openai-compatible requires `base_url`, the URL that /chat/completions is appended to; azure ' +
      'requires it, too: the address of the resource. bedrock takes `region`, `access_key_id`, `secret_access_key` and ' +
      '`session_token` instead of `api_key`. Secrets are stored encrypted and never returned.',
    input: AiProviderCreateInput,
    output: AiProviderAnswer,
    annotations: CREATES,
  })
  async create(input: AiProviderCreateInput, caller: Principal): Promise<AiProviderAnswer> {
    return { item: await this.service.create(input.data, caller) };
  }

  @ManagementTool({
    name: 'AI_PROVIDER_LIST',
    description: "Lists the organization's AI providers without their secrets.",
    input: AiProviderListInput,
    output: AiProviderList,
    annotations: READ_ONLY,
  })
  async list(_input: AiProviderListInput, caller: Principal): Promise<AiProviderList> {
    return { items: await this.service.list(caller) };
  }

  @ManagementTool({
    name: 'AI_PROVIDER_UPDATE',
    description:
      'Changes an AI provider. Absent properties keep their value; null clears it. If base_url or region changes the ' +
      'server, send the secrets again, or null.',
    input: AiProviderUpdateInput,
    output: AiProviderAnswer,
    annotations: UPDATES,
  })
  async update(input: AiProviderUpdateInput, caller: Principal): Promise<AiProviderAnswer> {
    return { item: await this.service.update(input.id, input.data, caller) };
  }

  @ManagementTool({
    name: 'AI_PROVIDER_DELETE',
    description: 'Deletes an AI provider. Its models leave the tiers, and the next ones move up.',
    input: AiProviderDeleteInput,
    output: AiProviderAnswer,
    annotations: DESTROYS,
  })
  async delete(input: AiProviderDeleteInput, caller: Principal): Promise<AiProviderAnswer> {
    return { item: await this.service.delete(input.id, caller) };
  }

  @ManagementTool({
    name: 'AI_PROVIDER_TEST',
    description:
      'Requests a few words from a model of an AI provider, within 20 seconds, and reports the cause of a failure.',
    input: AiProviderTestInput,
    output: AiProviderTested,
    annotations: READ_ONLY,
  })
  test(input: AiProviderTestInput, caller: Principal): Promise<AiProviderTested> {
    return this.tester.test(input, caller);
  }

  @ManagementTool({
    name: 'AI_PROVIDER_MODELS',
    description:
      'Asks an AI provider for the names of its models, within 10 seconds, and reports the cause of a failure. Providers ' +
      'of kind azure and bedrock have no such list.',
    input: AiProviderModelsInput,
    output: AiProviderModels,
    annotations: READ_ONLY,
  })
  models(input: AiProviderModelsInput, caller: Principal, answer: HeldAnswer): Promise<AiProviderModels> {
    return this.modelList.read(input, caller, answer);
  }
}
