import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { ModelRecording } from '../../../core/model-recording.js';
import { newId } from '../../../core/ids.js';
import { SEALED_COLUMNS } from '../../../platform/vault/sealed-columns.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { RecordedCall } from './recorded-call.js';

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
