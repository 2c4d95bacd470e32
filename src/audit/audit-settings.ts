import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';

/** An organization's settings for the recording of tool calls. */
@Injectable()
export class AuditSettings {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /** Whether arguments and results are recorded. Reads the database; tool calls get the setting with their connection. */
  async recordsContent(organizationId: string): Promise<boolean> {
    const rows: { content: boolean }[] = await this.database.query(
      'SELECT audit_content AS content FROM organizations WHERE id = $1',
      [organizationId],
    );
    return rows[0]?.content === true;
  }

  /** Takes effect in every process within a second, the lifetime of cached connections. */
  async recordContent(organizationId: string, content: boolean): Promise<void> {
    await this.database.query(
      'UPDATE organizations SET audit_content = $2, updated_at = now() WHERE id = $1 AND audit_content <> $2',
      [organizationId, content],
    );
  }
}
