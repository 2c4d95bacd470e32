import { Injectable } from '@nestjs/common';
import { ManagementTool, READ_ONLY, UPDATES } from '../common/tools/management-tool.js';
import type { Principal } from '../common/principal.js';
import { AuditSettings } from './audit-settings.js';
import { IsBoolean } from 'class-validator';

class AuditSettingsGetInput {}

class AuditSettingsUpdateInput {
  /** Are the arguments and results of tool calls recorded? Secrets are replaced, by the names of their keys. */
  @IsBoolean()
  content: boolean;
}

class AuditSettingsAnswer {
  /** Are the arguments and results of tool calls recorded? */
  @IsBoolean()
  content: boolean;
}

@Injectable()
export class AuditSettingsTools {
  constructor(private readonly settings: AuditSettings) {}

  @ManagementTool({
    name: 'AUDIT_SETTINGS_GET',
    description: "Shows whether the arguments and results of the organization's tool calls are recorded.",
    input: AuditSettingsGetInput,
    output: AuditSettingsAnswer,
    annotations: READ_ONLY,
  })
  async get(_input: AuditSettingsGetInput, { organization }: Principal): Promise<AuditSettingsAnswer> {
    return { content: await this.settings.recordsContent(organization.id) };
  }

  @ManagementTool({
    name: 'AUDIT_SETTINGS_UPDATE',
    description:
      "Sets whether the arguments and results of the organization's tool calls are recorded from now on (they are not " +
      'unless this is called). Secrets are replaced as far as the names of keys tell them; MONITORING_LOGS_LIST shows ' +
      'the rest to everyone who may call it. Takes effect within a second.',
    input: AuditSettingsUpdateInput,
    output: AuditSettingsAnswer,
    annotations: UPDATES,
  })
  async update({ content }: AuditSettingsUpdateInput, { organization }: Principal): Promise<AuditSettingsAnswer> {
    await this.settings.recordContent(organization.id, content);
    return { content };
  }
}
