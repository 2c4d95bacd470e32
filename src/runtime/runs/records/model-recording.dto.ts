import { IsBoolean, IsIn, IsInt, IsISO8601, IsNumber, IsString, IsUUID, Min } from 'class-validator';
import { MODEL_RECORDINGS, type ModelRecording } from '../../../core/model-recording.js';
import { Nested, NestedList } from '../../../core/validation/nested.js';
import { MayBeAbsent, MayBeNull } from '../../../core/validation/presence.js';
import type {
  RecordedCall,
  RecordedMessage,
  RecordedPart,
  RecordedRequest,
  RecordedResponse,
  RecordedText,
  RecordedTool,
  RecordedTry,
} from './model-recordings.js';

const PART_TYPES = ['text', 'reasoning', 'file', 'tool-call', 'tool-result', 'other'] as const;
const ROLES = ['user', 'assistant', 'tool'] as const;
const RECORDED = ['redacted', 'full'] as const;

export class ModelCallGetInput {
  /** The id of the run. */
  @IsUUID()
  id: string;

  /** The place of the call in `model_calls` of RUN_GET, from 1. */
  @IsInt()
  @Min(1)
  number: number;
}

class RecordedTextItem implements RecordedText {
  /** In characters. */
  @IsInt()
  size: number;

  /** Equal texts have equal hashes within an organization. */
  @IsString()
  hash: string;

  /** Null if it is redacted. Texts of more than 65,536 characters are cut. */
  @MayBeNull()
  @IsString()
  text: string | null;
}

class RecordedPartItem extends RecordedTextItem implements RecordedPart {
  @IsIn(PART_TYPES)
  type: RecordedPart['type'];

  @MayBeNull()
  @IsString()
  tool_name: string | null;

  @MayBeNull()
  @IsString()
  tool_call_id: string | null;

  /** Of a file, whose size is in bytes. */
  @MayBeNull()
  @IsString()
  media_type: string | null;
}

class RecordedMessageItem implements RecordedMessage {
  @IsIn(ROLES)
  role: RecordedMessage['role'];

  @NestedList(() => RecordedPartItem)
  parts: RecordedPartItem[];
}

class RecordedToolItem implements RecordedTool {
  @IsString()
  name: string;

  @Nested(() => RecordedTextItem)
  description: RecordedTextItem;

  @Nested(() => RecordedTextItem)
  input_schema: RecordedTextItem;

  /** What the definition adds to the input at most, as spending limits count. */
  @IsInt()
  tokens: number;
}

class RecordedSettingsItem {
  @MayBeNull()
  @IsNumber()
  temperature: number | null;

  @MayBeNull()
  @IsInt()
  max_output_tokens: number | null;

  @MayBeNull()
  @IsString()
  tool_choice: string | null;

  @IsString()
  response_format: string;

  @MayBeNull()
  @Nested(() => RecordedTextItem)
  response_schema: RecordedTextItem | null;

  @MayBeNull()
  @Nested(() => RecordedTextItem)
  provider_options: RecordedTextItem | null;
}

class RecordedRequestItem implements RecordedRequest {
  @MayBeNull()
  @Nested(() => RecordedTextItem)
  instructions: RecordedTextItem | null;

  @NestedList(() => RecordedMessageItem)
  messages: RecordedMessageItem[];

  @NestedList(() => RecordedToolItem)
  tools: RecordedToolItem[];

  /** What the request adds up to at most, as spending limits count. */
  @IsInt()
  tokens: number;

  @Nested(() => RecordedSettingsItem)
  settings: RecordedSettingsItem;
}

class RecordedResponseItem implements RecordedResponse {
  @NestedList(() => RecordedPartItem)
  parts: RecordedPartItem[];

  @MayBeNull()
  @IsString()
  finish_reason: string | null;

  /** The provider's own id of the answer. */
  @MayBeNull()
  @IsString()
  response_id: string | null;

  @MayBeNull()
  @IsString()
  model: string | null;
}

class RecordedTryItem implements RecordedTry {
  @IsISO8601()
  started_at: string;

  @IsInt()
  duration_ms: number;

  /** Null for the request that was answered. */
  @MayBeNull()
  @IsString()
  error_code: string | null;
}

class RecordedPriceItem {
  @IsNumber()
  input: number;

  @IsNumber()
  output: number;

  @MayBeAbsent()
  @IsNumber()
  cached_input?: number;
}

export class RecordedCallItem implements RecordedCall {
  @IsIn(RECORDED)
  recording: RecordedCall['recording'];

  /** It was recorded without its texts, because they were too large. */
  @IsBoolean()
  is_too_large: boolean;

  /** In US dollars per million tokens, when the call was made; null if none was set. */
  @MayBeNull()
  @Nested(() => RecordedPriceItem)
  price: RecordedPriceItem | null;

  @Nested(() => RecordedRequestItem)
  request: RecordedRequestItem;

  @Nested(() => RecordedResponseItem)
  response: RecordedResponseItem;

  /** Each request to the provider, in order. The last one is the recorded one. */
  @NestedList(() => RecordedTryItem)
  tries: RecordedTryItem[];
}

export class ModelCallOutput {
  /** What the organization records now. */
  @IsIn(MODEL_RECORDINGS)
  setting: ModelRecording;

  /** Null if the call was not recorded, or is no longer kept. */
  @MayBeNull()
  @Nested(() => RecordedCallItem)
  item: RecordedCallItem | null;
}
