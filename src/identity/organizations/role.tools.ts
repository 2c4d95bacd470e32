import { Injectable } from '@nestjs/common';
import type { Principal } from '../../core/principal.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { RoleDeleted, RoleDeleteInput, RoleInput, RoleItems, RoleListInput, RoleOutput } from './role.dto.js';
import { RoleService } from './role.service.js';

@Injectable()
export class RoleTools {
  constructor(private readonly service: RoleService) {}

  @ManagementTool({
    name: 'ROLE_LIST',
    description: 'Lists the built-in roles (owner, admin, member) and the custom roles of this organization.',
    input: RoleListInput,
    output: RoleItems,
    annotations: READ_ONLY,
  })
  async list(_input: RoleListInput, caller: Principal): Promise<RoleItems> {
    return { items: await this.service.list(caller) };
  }

  @ManagementTool({
    name: 'ROLE_CREATE',
    description: 'Creates a role: a permission map with a name. Its permissions cannot exceed those of the caller.',
    input: RoleInput,
    output: RoleOutput,
    annotations: CREATES,
  })
  async create(input: RoleInput, caller: Principal): Promise<RoleOutput> {
    return { item: await this.service.create(input, caller) };
  }

  @ManagementTool({
    name: 'ROLE_UPDATE',
    description:
      'Replaces the permissions of a custom role, with effect on everyone who has it. The caller must hold the ' +
      'current and the new permissions.',
    input: RoleInput,
    output: RoleOutput,
    annotations: UPDATES,
  })
  async update(input: RoleInput, caller: Principal): Promise<RoleOutput> {
    return { item: await this.service.update(input, caller) };
  }

  @ManagementTool({
    name: 'ROLE_DELETE',
    description: 'Deletes a custom role that no member and no invitation has.',
    input: RoleDeleteInput,
    output: RoleDeleted,
    annotations: DESTROYS,
  })
  async delete({ name }: RoleDeleteInput, caller: Principal): Promise<RoleDeleted> {
    await this.service.delete(name, caller);
    return { success: true, name };
  }
}
