import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { SpendWarnings } from '../../platform/limits/spend-warnings.js';
import {
  MemberIdInput,
  MemberInvited,
  MemberInviteInput,
  MemberPage,
  MemberRemoved,
  MemberResetLink,
  MemberUpdated,
  MemberUpdateInput,
} from './member.dto.js';
import { MemberService } from './member.service.js';

@Injectable()
export class MemberTools {
  constructor(
    private readonly service: MemberService,
    private readonly warnings: SpendWarnings,
  ) {}

  @ManagementTool({
    name: 'MEMBER_INVITE',
    description:
      'Invites a person to this organization with a role. The link in the response accepts the invitation once; it ' +
      'is also mailed if the service sends mail. A second invitation of the same address replaces the first. The ' +
      'role cannot hold more than the caller.',
    input: MemberInviteInput,
    output: MemberInvited,
    annotations: CREATES,
  })
  invite(input: MemberInviteInput, caller: Principal): Promise<MemberInvited> {
    return this.service.invite(input, caller);
  }

  @ManagementTool({
    name: 'MEMBER_LIST',
    description:
      'Lists the members of this organization and its open invitations, oldest first. You can filter by all ' +
      'fields, and order by those that are not nullable.',
    input: ListInput,
    output: MemberPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<MemberPage> {
    return this.service.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'MEMBER_UPDATE',
    description:
      'Gives a member or an invitation another role, or a member a spending limit. Nobody can change their own role, only owners can change ' +
      'owners, and the last owner keeps the role. Neither role can hold more than the caller. To give an invited ' +
      'person a role that holds more, invite the person again. To lift a spending limit, the caller must hold all ' +
      'management tools.',
    input: MemberUpdateInput,
    output: MemberUpdated,
    annotations: UPDATES,
  })
  async update(input: MemberUpdateInput, caller: Principal): Promise<MemberUpdated> {
    const item = await this.service.update(input, caller);
    return { item, ...(await this.warnings.after(input.spend, caller)) };
  }

  @ManagementTool({
    name: 'MEMBER_REMOVE',
    description:
      'Removes a member, together with the API keys and grants that the person has in this organization, and the ' +
      'invitations and reset links that the person made; or withdraws an invitation. The last owner cannot be ' +
      'removed.',
    input: MemberIdInput,
    output: MemberRemoved,
    annotations: DESTROYS,
  })
  async remove({ id }: MemberIdInput, caller: Principal): Promise<MemberRemoved> {
    await this.service.remove(id, caller);
    return { success: true, id };
  }

  @ManagementTool({
    name: 'MEMBER_RESET',
    description:
      'Creates a link with which a member sets a new password, once, within 24 hours. It is also mailed if the ' +
      'service sends mail. For a member of several organizations it is only mailed.',
    input: MemberIdInput,
    output: MemberResetLink,
    annotations: CREATES,
  })
  async reset({ id }: MemberIdInput, caller: Principal): Promise<MemberResetLink> {
    return { reset_url: await this.service.createResetLink(id, caller) };
  }
}
