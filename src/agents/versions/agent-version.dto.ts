import { IsArray, IsInt, IsISO8601, IsString, IsUUID, Max, Min } from 'class-validator';
import { CallerItem } from '../../audit/caller.dto.js';
import { ItemOf } from '../../core/paging/page-of.js';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeNull } from '../../core/validation/presence.js';
import { AgentContent, AgentIdInput, AgentItem } from '../records/agent.dto.js';

/** Of an integer of the database. */
const MAX_INTEGER = 2_147_483_647;

export class AgentVersionInput extends AgentIdInput {
  @IsInt()
  @Min(1)
  @Max(MAX_INTEGER)
  number: number;
}

/** Nobody made a version that was found later: a connection was deleted, for example. */
export class AgentVersionItem extends CallerItem {
  /** Counts from 1 for each agent. */
  @IsInt()
  number: number;

  /** When the version was recorded. */
  @IsISO8601()
  created_at: string;

  /** The version whose content it has again; null unless AGENT_VERSION_RESTORE made it. */
  @MayBeNull()
  @IsInt()
  restored_from: number | null;
}

class ListedAgentVersion extends AgentVersionItem {
  /** The properties that differ from the version before; empty for the oldest one. */
  @IsArray()
  @IsString({ each: true })
  changed: string[];
}

export class AgentVersionList {
  /** Newest first. */
  @NestedList(() => ListedAgentVersion)
  items: ListedAgentVersion[];
}

class AgentVersionDetails extends AgentVersionItem {
  @Nested(() => AgentContent)
  content: AgentContent;
}

export class AgentVersionAnswer extends ItemOf(AgentVersionDetails) {}

export class AgentRestored extends ItemOf(AgentItem) {
  /** The connections of the version that do not exist any more. The agent does without them. */
  @IsArray()
  @IsUUID('all', { each: true })
  missing_connections: string[];
}
