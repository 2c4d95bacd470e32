import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';

/** What an organization wants to have recorded of its tool calls. */
@Injectable()
export class AuditSettings {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  /** Are arguments and results recorded? Read from the database; calls of a connection's tools find it with the connection. */
  async recordsContent(organizationId: string): Promise<boolean> {
    const rows: { content: boolean }[] = await this.database.query(
      'SELECT audit_content AS content FROM organizations WHERE id = $1',
      [organizationId],
    );
    return rows[0]?.content === true;
  }

  /** Every process follows within a second: connections are believed no longer. */
  async recordContent(organizationId: string, content: boolean): Promise<void> {
    await this.database.query(
      'UPDATE organizations SET audit_content = $2, updated_at = now() WHERE id = $1 AND audit_content <> $2',
      [organizationId, content],
    );
  }
}
