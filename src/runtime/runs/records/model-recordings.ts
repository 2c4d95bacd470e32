import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { ModelRecording } from '../../../core/model-recording.js';
import { newId } from '../../../core/ids.js';
import { SEALED_COLUMNS } from '../../../platform/vault/sealed-columns.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { ModelPrice } from '../../../agents/models/model-price.js';

/** A call of a run: its attempt, and its place among the calls of the attempt, from 1. */
export interface CallOfRun {
  readonly runId: string;
  readonly attempt: number;
  readonly ordinal: number;
}

/** The recording of a model call as it is stored. */
export interface SealedRecording extends CallOfRun {
  readonly id: string;
  /** What the organization recorded when the call was made. */
  readonly recording: RecordedCall['recording'];
  /** The envelope. */
  readonly content: string;
}

// A run can have been deleted meanwhile, and the organization can have changed what it records.
const STORE = `
  INSERT INTO model_recordings (id, run_id, organization_id, attempt, ordinal, content)
  SELECT recorded.id, run.id, run.organization_id, recorded.attempt, recorded.ordinal, recorded.content
    FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[], $6::text[])
           AS recorded (id, run_id, attempt, ordinal, recording, content)
    JOIN runs run ON run.id = recorded.run_id
    JOIN organizations organization
      ON organization.id = run.organization_id AND organization.model_recording = recorded.recording
     FOR KEY SHARE OF run
  ON CONFLICT DO NOTHING`;

/** Stores and reads what was sent to models and answered. It holds people's words, and is sealed. */
@Injectable()
export class ModelRecordings {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly vault: VaultService,
  ) {}

  /** @param content a `RecordedCall` as JSON */
  seal(of: Omit<SealedRecording, 'id' | 'content'>, content: string): SealedRecording {
    const id = newId();
    return { ...of, id, content: this.vault.seal(content, SEALED_COLUMNS.modelRecording.contextOf(id)) };
  }

  /** Stores recordings of runs that still exist, unless their organization records something else by now. */
  async store(sealed: readonly SealedRecording[]): Promise<void> {
    await this.dataSource.query(STORE, [
      sealed.map(({ id }) => id),
      sealed.map(({ runId }) => runId),
      sealed.map(({ attempt }) => attempt),
      sealed.map(({ ordinal }) => ordinal),
      sealed.map(({ recording }) => recording),
      sealed.map(({ content }) => content),
    ]);
  }

  /** What the organization records now. */
  async readSetting(organizationId: string): Promise<ModelRecording> {
    const [row]: { recording: ModelRecording }[] = await this.dataSource.query(
      'SELECT model_recording AS recording FROM organizations WHERE id = $1',
      [organizationId],
    );
    return row?.recording ?? 'off';
  }

  /** The JSON of the `RecordedCall`; undefined if the call was not recorded, or is no longer kept. */
  async findJson({ runId, attempt, ordinal }: CallOfRun): Promise<string | undefined> {
    const [row]: { id: string; content: string }[] = await this.dataSource.query(
      'SELECT id, content FROM model_recordings WHERE run_id = $1 AND attempt = $2 AND ordinal = $3',
      [runId, attempt, ordinal],
    );
    return row && this.vault.open(row.content, SEALED_COLUMNS.modelRecording.contextOf(row.id));
  }
}

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
