import { IsString, IsUUID } from 'class-validator';
import { MayBeNull } from '../core/validation/presence.js';

/** Who made a call: a person, an API key, or a person's API key. All properties are null for an anonymous call. */
export class CallerItem {
  @MayBeNull()
  @IsUUID()
  user_id: string | null;

  /** Also of a user who was deleted since. */
  @MayBeNull()
  @IsString()
  user_email: string | null;

  @MayBeNull()
  @IsUUID()
  api_key_id: string | null;

  /** Also of a key that was deleted since. */
  @MayBeNull()
  @IsString()
  key_name: string | null;
}
