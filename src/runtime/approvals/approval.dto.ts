import { IsBoolean, IsString, IsUUID, Length, Matches } from 'class-validator';
import { MayBeAbsent } from '../../core/validation/presence.js';

export const MAX_REASON_LENGTH = 1000;

/** The body of an answer to a request for an approval. */
export class ApprovalRequest {
  /** Whether the call is made. */
  @IsBoolean()
  approved: boolean;

  /** The model and the transcript get the reason, too. */
  @MayBeAbsent()
  @IsString()
  @Length(1, MAX_REASON_LENGTH)
  @Matches(/^[^\x00]*$/u, { message: 'must not contain NUL characters' })
  reason?: string;
}

/** The accepted answer. */
export class ApprovalAccepted {
  @IsUUID()
  approvalId: string;

  @IsBoolean()
  approved: boolean;
}
