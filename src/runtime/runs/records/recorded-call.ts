import type { ModelPrice } from '../../../agents/models/model-price.js';
import type { ModelRecording } from '../../../core/model-recording.js';

/** A text that was sent or answered. */
export interface RecordedText {
  /** In characters (UTF-16 code units). */
  size: number;
  /** The first 16 hexadecimal digits of the SHA-256 of the organization's id, a colon, and the text. */
  hash: string;
  /** Null if it is redacted; the beginning of a longer one. */
  text: string | null;
}

/** A part of a message. */
export interface RecordedPart extends RecordedText {
  type: 'text' | 'reasoning' | 'file' | 'tool-call' | 'tool-result' | 'other';
  /** Of a tool call and a result; `***` if the name is redacted, because the request has no such tool. */
  tool_name: string | null;
  /** Connects a result with its call; redacted, the hash of the id. */
  tool_call_id: string | null;
  /** Of a file, whose size is in bytes. */
  media_type: string | null;
}

export interface RecordedMessage {
  role: 'user' | 'assistant' | 'tool';
  parts: RecordedPart[];
}

export interface RecordedTool {
  name: string;
  description: RecordedText;
  input_schema: RecordedText;
  /** What the definition adds to the input at most, as spending limits count. */
  tokens: number;
}

/** What a model was sent, in the form that is common to all providers. */
export interface RecordedRequest {
  instructions: RecordedText | null;
  messages: RecordedMessage[];
  tools: RecordedTool[];
  /** What the request adds up to at most, as spending limits count. */
  tokens: number;
  settings: {
    temperature: number | null;
    max_output_tokens: number | null;
    tool_choice: string | null;
    response_format: string;
    response_schema: RecordedText | null;
    provider_options: RecordedText | null;
  };
}

/** What came back. */
export interface RecordedResponse {
  parts: RecordedPart[];
  finish_reason: string | null;
  /** The provider's own id of the answer, and its name of the model. */
  response_id: string | null;
  model: string | null;
}

/** One request to the provider. */
export interface RecordedTry {
  started_at: string;
  duration_ms: number;
  /** Null for the request that was answered. */
  error_code: string | null;
}

/** What is recorded of one model call. */
export interface RecordedCall {
  recording: Exclude<ModelRecording, 'off'>;
  /** Its texts were too long to be recorded: they are redacted. */
  is_too_large: boolean;
  /** In US dollars per million tokens. */
  price: ModelPrice | null;
  request: RecordedRequest;
  response: RecordedResponse;
  tries: RecordedTry[];
}
