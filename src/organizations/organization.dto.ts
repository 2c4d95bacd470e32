import { IsIn, IsISO8601, IsString, IsUUID, Length } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { ItemOf } from '../common/paging/page-of.js';
import type { PermissionMap } from '../common/permissions.js';
import type { RunAccess } from '../common/principal.js';
import { IsPermissionMap } from '../common/validation/is-permission-map.js';
import { MayBeAbsent } from '../common/validation/presence.js';

const RUN_ACCESS: readonly RunAccess[] = ['members', 'granted'];
const RUN_ACCESS_DESCRIPTION =
  'members: every valid credential of the organization can run agents and read streams. granted: only one whose permissions ' +
  'name the agent.';

/** The input of a tool without parameters. */
export class OrganizationGetInput {}

export class OrganizationUpdateInput {
  @MayBeAbsent()
  @IsString()
  @Length(1, 128)
  name?: string;

  @MayBeAbsent()
  @IsPermissionMap()
  member_permissions?: PermissionMap;

  @MayBeAbsent()
  @IsIn(RUN_ACCESS)
  @JSONSchema({ description: RUN_ACCESS_DESCRIPTION })
  run_access?: RunAccess;
}

export class OrganizationItem {
  @IsUUID()
  id: string;

  @IsString()
  slug: string;

  @IsString()
  name: string;

  /** What every member holds, whatever the role. */
  @IsPermissionMap()
  member_permissions: PermissionMap;

  @IsIn(RUN_ACCESS)
  @JSONSchema({ description: RUN_ACCESS_DESCRIPTION })
  run_access: RunAccess;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class OrganizationOutput extends ItemOf(OrganizationItem) {}
