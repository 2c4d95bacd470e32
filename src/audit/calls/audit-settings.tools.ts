import { Injectable } from '@nestjs/common';
import { ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import type { Principal } from '../../core/principal.js';
import { AuditSettings } from './audit-settings.js';
import { IsBoolean } from 'class-validator';

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
  constructor(private readonly settings: AuditSettings) {}

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
  async update({ content }: AuditSettingsUpdateInput, { organization }: Principal): Promise<AuditSettingsAnswer> {
    await this.settings.recordContent(organization.id, content);
    return { content };
  }
}
