import {
  Equals,
  IsEmail,
  IsIn,
  IsInt,
  IsISO8601,
  IsString,
  IsUrl,
  IsUUID,
  Length,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { SpendLimit } from '../../core/limits.js';
import { ItemOf, PageOf } from '../../core/paging/page-of.js';
import { SpendLimitInput, SpendLimitItem, WarnedItemOf } from '../../core/spend-limit.dto.js';
import { IsOptionalObject, Nested } from '../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { PERSON_STATUSES } from './organization-person.entity.js';

const MAX_INVITATION_SECONDS = 30 * 24 * 3600;

export class MemberInviteInput {
  @IsEmail()
  @MaxLength(254)
  email: string;

  @IsString()
  @Length(1, 64)
  @JSONSchema({ description: '`owner`, `admin`, `member` or the name of a custom role.' })
  role: string;

  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_INVITATION_SECONDS)
  @JSONSchema({
    description: 'Lifetime of the invitation in seconds; 7 days if omitted. At most that of the calling key.',
  })
  expiresIn?: number;
}

export class MemberUpdateInput {
  @IsUUID()
  @JSONSchema({ description: 'The id of a member or of an invitation, as listed.' })
  id: string;

  /** Keeps its value if it is absent. */
  @MayBeAbsent()
  @IsString()
  @Length(1, 64)
  role?: string;

  /**
   * What the model calls of the person's runs can cost, those of the person's keys included. Null removes the limit.
   */
  @IsOptionalObject(() => SpendLimitInput)
  spend?: SpendLimitInput | null;
}

export class MemberIdInput {
  @IsUUID()
  @JSONSchema({ description: 'The id of a member or of an invitation, as listed.' })
  id: string;
}

/** A member or an open invitation. */
export class MemberItem {
  @IsUUID()
  id: string;

  /** Null for an invitation. */
  @MayBeNull()
  @IsUUID()
  user_id: string | null;

  @IsString()
  email: string;

  @MayBeNull()
  @IsString()
  name: string | null;

  @IsString()
  role: string;

  @IsIn(PERSON_STATUSES)
  status: (typeof PERSON_STATUSES)[number];

  @IsISO8601()
  created_at: string;

  @MayBeNull()
  @Nested(() => SpendLimitItem)
  spend: SpendLimit | null;
}

export class MemberPage extends PageOf(MemberItem) {}

export class MemberUpdated extends WarnedItemOf(MemberItem) {}

export class MemberInvited extends ItemOf(MemberItem) {
  @IsUrl({ require_tld: false })
  @JSONSchema({ description: 'The link that accepts the invitation, once.' })
  invitation_url: string;
}

export class MemberRemoved {
  @Equals(true)
  success: true;

  @IsUUID()
  id: string;
}

export class MemberResetLink {
  @MayBeNull()
  @IsUrl({ require_tld: false })
  @JSONSchema({
    description: 'The link that sets a new password, once, within 24 hours. Null if it was mailed to the member only.',
  })
  reset_url: string | null;
}
