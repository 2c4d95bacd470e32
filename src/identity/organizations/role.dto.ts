import { Equals, IsBoolean, IsString, Length, Matches } from 'class-validator';
import { ItemOf } from '../../core/paging/page-of.js';
import type { PermissionMap } from '../../core/permissions.js';
import { IsPermissionMap } from '../../core/validation/is-permission-map.js';
import { NestedList } from '../../core/validation/nested.js';

/** The input of a tool without parameters. */
export class RoleListInput {}

export class RoleInput {
  @IsString()
  @Length(1, 64)
  @Matches(/^\S(?:.*\S)?$/, { message: 'name must not begin or end with white space' })
  name: string;

  @IsPermissionMap()
  permissions: PermissionMap;
}

export class RoleDeleteInput {
  @IsString()
  @Length(1, 64)
  name: string;
}

export class RoleItem {
  @IsString()
  name: string;

  /** What a person with the role holds, without the permissions of every member. */
  @IsPermissionMap()
  permissions: PermissionMap;

  /** `owner`, `admin` and `member` exist in every organization and cannot be changed. */
  @IsBoolean()
  built_in: boolean;
}

export class RoleItems {
  @NestedList(() => RoleItem)
  items: RoleItem[];
}

export class RoleOutput extends ItemOf(RoleItem) {}

export class RoleDeleted {
  @Equals(true)
  success: true;

  @IsString()
  name: string;
}
