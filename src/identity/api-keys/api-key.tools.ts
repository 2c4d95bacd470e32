import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { SpendWarnings } from '../../platform/limits/spend-warnings.js';
import {
  ApiKeyCreated,
  ApiKeyCreateInput,
  ApiKeyDeleted,
  ApiKeyDeleteInput,
  ApiKeyPage,
  ApiKeyUpdated,
  ApiKeyUpdateInput,
} from './api-key.dto.js';
import { ApiKeyService } from './api-key.service.js';

@Injectable()
export class ApiKeyTools {
  constructor(
    private readonly service: ApiKeyService,
    private readonly warnings: SpendWarnings,
  ) {}

  @ManagementTool({
    name: 'API_KEY_CREATE',
    description:
      'Creates an API key for this organization. Its permissions, lifetime and rate limit cannot exceed those of the ' +
      'calling key. spend limits what the model calls of its runs can cost, together with those of the keys that it ' +
      'makes. Only this response contains the value of the key.',
    input: ApiKeyCreateInput,
    output: ApiKeyCreated,
    annotations: CREATES,
  })
  async create(input: ApiKeyCreateInput, caller: Principal): Promise<ApiKeyCreated> {
    const created = await this.service.create(input, caller);
    return { ...created, ...(await this.warnings.after(input.spend, caller)) };
  }

  @ManagementTool({
    name: 'API_KEY_LIST',
    description:
      "Lists the organization's API keys without their values, oldest first. Returns all keys unless limit or " +
      'their size ends the page. You can filter by id, name, maker_key_id, expires_at, last_used_at, created_at ' +
      'and updated_at, and order by those that are not nullable.',
    input: ListInput,
    output: ApiKeyPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<ApiKeyPage> {
    return this.service.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'API_KEY_UPDATE',
    description:
      'Renames an API key, replaces its permissions, or changes its expiry, its rate limit or its spending limit. The calling key must ' +
      'hold the current and the new permissions of the key. To add permissions or to let the key expire later, it ' +
      'must not expire before the key. A key that has expired stays so. A key with a spending limit cannot lift one.',
    input: ApiKeyUpdateInput,
    output: ApiKeyUpdated,
    annotations: UPDATES,
  })
  async update(input: ApiKeyUpdateInput, caller: Principal): Promise<ApiKeyUpdated> {
    const item = await this.service.update(input, caller);
    return { item, ...(await this.warnings.after(input.spend, caller)) };
  }

  @ManagementTool({
    name: 'API_KEY_DELETE',
    description:
      'Deletes an API key, which stops working immediately, with all keys that were made with it. children: keep ' +
      'keeps these, for example when a key replaces itself. The calling key must hold the permissions of all ' +
      'deleted keys, except its own.',
    input: ApiKeyDeleteInput,
    output: ApiKeyDeleted,
    annotations: DESTROYS,
  })
  async delete(input: ApiKeyDeleteInput, caller: Principal): Promise<ApiKeyDeleted> {
    return { success: true, id: input.id, children: await this.service.delete(input, caller) };
  }
}
