import { IsIn } from 'class-validator';
import { MayBeAbsent } from '../../core/validation/presence.js';

const SWITCH = ['true', 'false'] as const;

/** The query parameters of a request that adds a message to a run under way. */
export class SteerQuery {
  /** Ends the current step of the run first. What it has said so far stays. */
  @MayBeAbsent()
  @IsIn(SWITCH)
  interrupt?: (typeof SWITCH)[number];
}
