import { IsBoolean } from 'class-validator';

export class AuditSettingsGetInput {}

export class AuditSettingsUpdateInput {
  /** Are the arguments and results of tool calls recorded? Secrets are replaced, by the names of their keys. */
  @IsBoolean()
  content: boolean;
}

export class AuditSettingsAnswer {
  /** Are the arguments and results of tool calls recorded? */
  @IsBoolean()
  content: boolean;
}
