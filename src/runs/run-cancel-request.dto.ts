import { IsUUID } from 'class-validator';
import { MayBeAbsent } from '../common/validation/presence.js';

/** The body of a cancellation. Without a `taskId` every run that is not finished is cancelled. */
export class RunCancelRequest {
  @MayBeAbsent()
  @IsUUID()
  taskId?: string;
}
