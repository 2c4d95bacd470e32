import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { TtlCache } from '../../core/ttl-cache.js';

/** A change in another process must take effect within a second. */
const CACHED_MS = 900;
const MAX_ENTRIES = 1_000;

/** An organization's settings for the recording of tool calls. */
@Injectable()
export class AuditSettings {
  private readonly recording = new TtlCache<boolean>({ ttlMs: CACHED_MS, maxEntries: MAX_ENTRIES });

  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /**
   * Whether arguments and results are recorded. Returns a promise only if the setting is not cached. Calls of upstream
   * tools get the setting with their connection.
   */
  recordsContent(organizationId: string): boolean | Promise<boolean> {
    return this.recording.get(organizationId, () => this.readSetting(organizationId));
  }

  /**
   * Takes effect in every process within a second, the lifetime of cached connections; in this one with `forget`.
   * @param manager of the transaction that also stores the event of the change
   * @returns the organization, if this changed its setting
   */
  async recordContent(
    organizationId: string,
    content: boolean,
    manager: EntityManager,
  ): Promise<{ name: string } | undefined> {
    const [changed]: { name: string }[] = await manager.query(
      `WITH changed AS (
         UPDATE organizations SET audit_content = $2, updated_at = now() WHERE id = $1 AND audit_content <> $2
         RETURNING name
       ) SELECT name FROM changed`,
      [organizationId, content],
    );
    return changed;
  }

  /** Reads the setting again on the next call. */
  forget(organizationId: string): void {
    this.recording.forget(organizationId);
  }

  /** The setting as it is stored. */
  async readSetting(organizationId: string): Promise<boolean> {
    const rows: { content: boolean }[] = await this.database.query(
      'SELECT audit_content AS content FROM organizations WHERE id = $1',
      [organizationId],
    );
    return rows[0]?.content === true;
  }
}
