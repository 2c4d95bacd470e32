import { Injectable } from '@nestjs/common';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../common/tools/management-tool.js';
import type { Principal } from '../common/principal.js';
import {
  AiProviderAnswer,
  AiProviderCreateInput,
  AiProviderDeleteInput,
  AiProviderList,
  AiProviderListInput,
  AiProviderTested,
  AiProviderTestInput,
  AiProviderUpdateInput,
} from './ai-provider.dto.js';
import { AiProviderService } from './ai-provider.service.js';
import { ProviderTester } from './provider-tester.js';

@Injectable()
export class AiProviderTools {
  constructor(
    private readonly service: AiProviderService,
    private readonly tester: ProviderTester,
  ) {}

  @ManagementTool({
    name: 'AI_PROVIDER_CREATE',
    description:
      'Adds an AI provider. `base_url` is required for openai-compatible: the root that /chat/completions hangs under. ' +
      'The key is stored encrypted and never shown again.',
    input: AiProviderCreateInput,
    output: AiProviderAnswer,
    annotations: CREATES,
  })
  async create(input: AiProviderCreateInput, caller: Principal): Promise<AiProviderAnswer> {
    return { item: await this.service.create(input.data, caller) };
  }

  @ManagementTool({
    name: 'AI_PROVIDER_LIST',
    description: "Lists the organization's AI providers without their keys.",
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
      'Changes an AI provider. What is absent stays as it is; null clears the key or the base URL. With another server ' +
      'in base_url the stored key has to be sent again, or null.',
    input: AiProviderUpdateInput,
    output: AiProviderAnswer,
    annotations: UPDATES,
  })
  async update(input: AiProviderUpdateInput, caller: Principal): Promise<AiProviderAnswer> {
    return { item: await this.service.update(input.id, input.data, caller) };
  }

  @ManagementTool({
    name: 'AI_PROVIDER_DELETE',
    description: 'Deletes an AI provider. Tiers that use it are cleared.',
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
      'Asks a model of an AI provider for a few words, within 20 seconds, and says plainly what is wrong if it fails.',
    input: AiProviderTestInput,
    output: AiProviderTested,
    annotations: READ_ONLY,
  })
  test(input: AiProviderTestInput, caller: Principal): Promise<AiProviderTested> {
    return this.tester.test(input, caller);
  }
}
