import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { IsBoolean } from 'class-validator';
import { DataSource } from 'typeorm';
import type { Principal } from '../../core/principal.js';
import { ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { AuditSettings } from '../calls/audit-settings.js';
import { AuditEvents } from '../events/audit-events.js';

class AuditSettingsGetInput {}

class AuditSettingsUpdateInput {
  /**
   * Whether to record the arguments and results of tool calls. Secrets are redacted, recognized by the names of their
   * keys.
   */
  @IsBoolean()
  content: boolean;
}

class AuditSettingsAnswer {
  /** Whether the arguments and results of tool calls are recorded. */
  @IsBoolean()
  content: boolean;
}

@Injectable()
export class AuditSettingsTools {
  constructor(
    private readonly settings: AuditSettings,
    private readonly events: AuditEvents,
    @InjectDataSource() private readonly database: DataSource,
  ) {}

  @ManagementTool({
    name: 'AUDIT_SETTINGS_GET',
    description: "Returns whether the arguments and results of the organization's tool calls are recorded.",
    input: AuditSettingsGetInput,
    output: AuditSettingsAnswer,
    annotations: READ_ONLY,
  })
  async get(_input: AuditSettingsGetInput, { organization }: Principal): Promise<AuditSettingsAnswer> {
    return { content: await this.settings.readSetting(organization.id) };
  }

  @ManagementTool({
    name: 'AUDIT_SETTINGS_UPDATE',
    description:
      "Turns the recording of arguments and results of the organization's tool calls on or off. Recording is off " +
      'by default. Secrets are redacted, recognized by the names of their keys; callers of MONITORING_LOGS_LIST ' +
      'can read the rest. The change takes effect within a second.',
    input: AuditSettingsUpdateInput,
    output: AuditSettingsAnswer,
    annotations: UPDATES,
  })
  async update({ content }: AuditSettingsUpdateInput, caller: Principal): Promise<AuditSettingsAnswer> {
    const { id } = caller.organization;
    await this.database.transaction(async (manager) => {
      const changed = await this.settings.recordContent(id, content, manager);
      if (changed === undefined) return;
      const target = { type: 'organization', id, name: changed.name } as const;
      const changes = { audit_content: { from: !content, to: content } };
      await this.events.record(id, { event: 'organization.updated', actor: caller, target, changes }, manager);
    });
    this.settings.forget(id);
    return { content };
  }
}
