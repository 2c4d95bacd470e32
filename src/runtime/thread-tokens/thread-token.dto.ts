import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  IsISO8601,
  IsString,
  Matches,
  Max,
  Min,
} from 'class-validator';
import { CALLER_ID } from '../../core/ids.js';
import { THREAD_PERMISSIONS, type ThreadPermission } from '../../core/principal.js';
import { MayBeAbsent } from '../../core/validation/presence.js';

const MAX_LIFETIME_SECONDS = 3600;

export class ThreadTokenCreateInput {
  @IsString()
  @Matches(CALLER_ID)
  thread_id: string;

  /** What the token opens. `read`: the stream, the runs and the transcript. */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(THREAD_PERMISSIONS.length)
  @ArrayUnique()
  @IsIn(THREAD_PERMISSIONS, { each: true })
  permissions: ThreadPermission[];

  /** Lifetime in seconds; 900 if omitted. */
  @MayBeAbsent()
  @IsInt()
  @Min(1)
  @Max(MAX_LIFETIME_SECONDS)
  expiresIn?: number;
}

/** A created token. Only this response contains its value. */
export class ThreadTokenCreated {
  @IsString()
  token: string;

  @IsISO8601()
  expires_at: string;
}
