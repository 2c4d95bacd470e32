import { Injectable } from '@nestjs/common';
import { connectionFor } from '../connections/connection.js';
import { ConnectionDirectory } from '../connections/connection-directory.js';
import { type FieldError, refuseFaults } from '../core/domain-error.js';
import { allows } from '../core/permissions.js';
import type { Principal } from '../core/principal.js';
import { AgentComposition } from './composition/agent-composition.js';
import type { ToolPlace } from './composition/composition.js';
import { MemberLists } from './composition/member-lists.js';
import type { AgentConnectionData } from './records/agent.dto.js';
import { ToolDresser, type ToolToDress } from './dressing/tool-dresser.js';

/** Checks, before an agent is saved, that its dressed arguments fit the tools as far as these are known. */
@Injectable()
export class DressingCheck {
  constructor(
    private readonly dresser: ToolDresser,
    private readonly directory: ConnectionDirectory,
    private readonly lists: MemberLists,
    private readonly compositions: AgentComposition,
  ) {}

  /**
   * Tools that the caller is not permitted to call are not looked at: the errors say what their schemas contain.
   * @throws DomainError `invalid_request`
   */
  async requireFit(members: readonly AgentConnectionData[] = [], caller: Principal): Promise<void> {
    const faults: FieldError[] = [];
    for (const [index, { connection_id, selected_tools }] of members.entries()) {
      const id = connection_id.toLowerCase();
      const dressed = (selected_tools ?? []).flatMap((selected, at) =>
        typeof selected !== 'string' && selected.arguments !== undefined ? [{ selected, at }] : [],
      );
      if (dressed.length === 0) continue;
      const owner = { id, organizationId: caller.organization.id };
      const placeNamed = await this.placesOf(owner, caller);
      for (const { selected, at } of dressed) {
        const place = placeNamed(selected.tool);
        const mayCall = place?.grants.some(({ resource, tool }) => allows(caller.permissions, resource, tool)) === true;
        const message = mayCall ? (await this.dresser.dressTool(place, selected, owner)).misfit : undefined;
        if (message === undefined) continue;
        faults.push({ path: `data.connections[${index}].selected_tools[${at}]`, code: 'tool_mismatch', message });
      }
    }
    refuseFaults(faults);
  }

  /** Finds the tools of a connection or an agent by its own names for them. */
  private async placesOf(
    { id, organizationId }: { readonly id: string; readonly organizationId: string },
    { userId }: Principal,
  ): Promise<(name: string) => (ToolToDress & Pick<ToolPlace, 'grants'>) | undefined> {
    const connection = await this.directory.findConnection(organizationId, id);
    // Saving refuses it.
    if (connection === undefined) return () => undefined;
    if (connection.type === 'VIRTUAL') {
      const { places } = await this.compositions.compositionOf({ id, organizationId, accountUserId: userId });
      return (name) => places.get(name);
    }
    const { list } = await this.lists.listsOf(connectionFor(connection, userId));
    return (name) => ({ tool: list?.tools.get(name), grants: [{ resource: id, tool: name }] });
  }
}
