import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsNumber,
  IsObject,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateIf,
  ValidateNested,
  IsUUID,
} from 'class-validator';
import { CALLER_ID } from '../../core/ids.js';
import { Nested } from '../../core/validation/nested.js';
import { MayBeAbsent } from '../../core/validation/presence.js';
import { type Tier, TIERS } from '../../core/tier.js';

/** The messages that a request can have. */
export const MAX_MESSAGES = 1000;
/** The parts that each of them can have. */
export const MAX_PARTS = 1000;
export const MAX_FILENAME_LENGTH = 1024;

const PART_TYPES = ['text', 'file'] as const;

class RunRequestPart {
  @IsIn(PART_TYPES)
  type: (typeof PART_TYPES)[number];

  /** Of a part of type `text`, which has nothing else. */
  @ValidateIf(({ type }: RunRequestPart) => type !== 'file')
  @IsString()
  text?: string;

  /** Of a part of type `file`, in a message of the user. */
  @ValidateIf(({ type }: RunRequestPart) => type === 'file')
  @IsString()
  @MaxLength(255)
  mediaType?: string;

  /** The address of a file that was uploaded, or a `data:` URL. */
  @ValidateIf(({ type }: RunRequestPart) => type === 'file')
  @IsString()
  url?: string;

  @MayBeAbsent()
  @IsString()
  @MaxLength(MAX_FILENAME_LENGTH)
  filename?: string;
}

class RunRequestMessage {
  /** Your own id for the message. It must be unique within the thread. */
  @MayBeAbsent()
  @Matches(CALLER_ID, { message: 'must be 1 to 128 of A-Z, a-z, 0-9, _ and -, and must not contain a credential' })
  id?: string;

  @IsIn(['system', 'user'])
  role: 'system' | 'user';

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_PARTS)
  @ValidateNested({ each: true })
  @Type(() => RunRequestPart)
  parts: RunRequestPart[];
}

class RunRequestAgent {
  @IsString()
  @Length(1, 128)
  id: string;
}

/** The body of a request that adds a message to a run under way. Exactly one message has the role `user`. */
export class SteerRequest {
  @IsArray()
  @ArrayMaxSize(MAX_MESSAGES)
  @ValidateNested({ each: true })
  @Type(() => RunRequestMessage)
  messages: RunRequestMessage[];

  /** The agent that the thread belongs to. */
  @IsObject()
  @Nested(() => RunRequestAgent)
  agent: RunRequestAgent;
}

/** The body of a run request. */
export class RunRequest extends SteerRequest {
  @MayBeAbsent()
  @IsIn(TIERS)
  tier?: Tier;

  @MayBeAbsent()
  @IsNumber({ allowNaN: false, allowInfinity: false })
  @Min(0)
  @Max(2)
  temperature?: number;
}

/** The body of a request to answer a question again. */
export class RegenerateRequest {
  /** The id of an answer or of its question. Without it, the last question of the thread is answered again. */
  @MayBeAbsent()
  @Matches(CALLER_ID, { message: 'must be the id of a message' })
  messageId?: string;
}

/** The body of a cancellation. Without a `taskId`, all queued and running runs of the thread are cancelled. */
export class RunCancelRequest {
  @MayBeAbsent()
  @IsUUID()
  taskId?: string;
}

const SWITCH = ['true', 'false'] as const;

/** The query parameters of a request that adds a message to a run under way. */
export class SteerQuery {
  /** Ends the current step of the run first. What it has said so far stays. */
  @MayBeAbsent()
  @IsIn(SWITCH)
  interrupt?: (typeof SWITCH)[number];
}
