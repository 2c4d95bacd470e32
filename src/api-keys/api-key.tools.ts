import { Injectable } from '@nestjs/common';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../common/management-tool.js';
import type { Principal } from '../common/principal.js';
import {
  ApiKeyCreated,
  ApiKeyCreateInput,
  ApiKeyDeleted,
  ApiKeyDeleteInput,
  ApiKeyList,
  ApiKeyListInput,
  ApiKeyUpdated,
  ApiKeyUpdateInput,
} from './api-key.dto.js';
import { ApiKeyService } from './api-key.service.js';

@Injectable()
export class ApiKeyTools {
  constructor(private readonly service: ApiKeyService) {}

  @ManagementTool({
    name: 'API_KEY_CREATE',
    description: 'Creates an API key for this organization. The value is shown in this answer and never again.',
    input: ApiKeyCreateInput,
    output: ApiKeyCreated,
    annotations: CREATES,
  })
  create(input: ApiKeyCreateInput, caller: Principal): Promise<ApiKeyCreated> {
    return this.service.create(input, caller);
  }

  @ManagementTool({
    name: 'API_KEY_LIST',
    description: "Lists the organization's API keys without their values.",
    input: ApiKeyListInput,
    output: ApiKeyList,
    annotations: READ_ONLY,
  })
  async list(_input: ApiKeyListInput, caller: Principal): Promise<ApiKeyList> {
    return { items: await this.service.list(caller) };
  }

  @ManagementTool({
    name: 'API_KEY_UPDATE',
    description: 'Renames an API key or replaces its permissions, never with more than the caller holds.',
    input: ApiKeyUpdateInput,
    output: ApiKeyUpdated,
    annotations: UPDATES,
  })
  async update(input: ApiKeyUpdateInput, caller: Principal): Promise<ApiKeyUpdated> {
    return { item: await this.service.update(input, caller) };
  }

  @ManagementTool({
    name: 'API_KEY_DELETE',
    description: 'Deletes an API key; it stops working at once.',
    input: ApiKeyDeleteInput,
    output: ApiKeyDeleted,
    annotations: DESTROYS,
  })
  async delete(input: ApiKeyDeleteInput, caller: Principal): Promise<ApiKeyDeleted> {
    await this.service.delete(input.id, caller);
    return { success: true, id: input.id };
  }
}
