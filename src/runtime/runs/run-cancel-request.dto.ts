import { IsUUID } from 'class-validator';
import { MayBeAbsent } from '../../core/validation/presence.js';

/** The body of a cancellation. Without a `taskId`, all queued and running runs of the thread are cancelled. */
export class RunCancelRequest {
  @MayBeAbsent()
  @IsUUID()
  taskId?: string;
}
