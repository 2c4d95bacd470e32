import { Injectable } from '@nestjs/common';
import type { Principal } from '../../core/principal.js';
import { ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { SpendWarnings } from '../../platform/limits/spend-warnings.js';
import { OrganizationGetInput, OrganizationOutput, OrganizationUpdateInput } from './organization.dto.js';
import { OrganizationsService } from './organizations.service.js';

@Injectable()
export class OrganizationTools {
  constructor(
    private readonly service: OrganizationsService,
    private readonly warnings: SpendWarnings,
  ) {}

  @ManagementTool({
    name: 'ORGANIZATION_GET',
    description: 'Returns the settings of this organization.',
    input: OrganizationGetInput,
    output: OrganizationOutput,
    annotations: READ_ONLY,
  })
  async get(_input: OrganizationGetInput, caller: Principal): Promise<OrganizationOutput> {
    return { item: await this.service.get(caller) };
  }

  @ManagementTool({
    name: 'ORGANIZATION_UPDATE',
    description:
      'Changes the name of this organization, the permissions that every member holds, who can run agents, the ' +
      'limits, how long data is kept, or what is recorded of model calls. The slug never changes. The caller must hold the current and ' +
      'the new permissions of members. limits.spend limits what model calls can cost, in US dollars. To lift a limit, it must hold all management tools.',
    input: OrganizationUpdateInput,
    output: OrganizationOutput,
    annotations: UPDATES,
  })
  async update(input: OrganizationUpdateInput, caller: Principal): Promise<OrganizationOutput> {
    const item = await this.service.update(input, caller);
    return { item, ...(await this.warnings.after(input.limits?.spend, caller)) };
  }
}
