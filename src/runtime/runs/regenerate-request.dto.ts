import { Matches } from 'class-validator';
import { CALLER_ID } from '../../core/ids.js';
import { MayBeAbsent } from '../../core/validation/presence.js';

/** The body of a request to answer a question again. */
export class RegenerateRequest {
  /** The id of an answer or of its question. Without it, the last question of the thread is answered again. */
  @MayBeAbsent()
  @Matches(CALLER_ID, { message: 'must be the id of a message' })
  messageId?: string;
}
