import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsIn, IsObject, IsString, IsUUID, ValidateNested } from 'class-validator';
import { isRecord } from '../core/is-record.js';
import { OpenMap } from '../core/validation/validate-input.js';
import { MayBeAbsent } from '../core/validation/presence.js';
import { rule } from '../core/validation/rule.js';

const MAX_ENTRIES = 200;

export class ConnectionImportInput {
  /** Servers by name, as in the configuration files of MCP clients. */
  @OpenMap()
  @IsServerMap()
  mcpServers: Record<string, unknown>;

  /** Only say what would be done. */
  @MayBeAbsent()
  @IsBoolean()
  dry_run?: boolean;
}

const IMPORT_ACTIONS = ['create', 'update', 'unchanged', 'refused'] as const;
type ImportAction = (typeof IMPORT_ACTIONS)[number];

/** What was done with one entry, or would be. */
export class ConnectionImportItem {
  @IsString()
  name: string;

  @IsIn(IMPORT_ACTIONS)
  action: ImportAction;

  /** Why the entry was refused. */
  @MayBeAbsent()
  @IsString()
  reason?: string;

  /** The connection; absent if there is none. */
  @MayBeAbsent()
  @IsUUID()
  id?: string;
}

export class ConnectionImportOutput {
  @IsArray()
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => ConnectionImportItem)
  items: ConnectionImportItem[];
}

function IsServerMap(): PropertyDecorator {
  return rule(
    'isServerMap',
    { type: 'object', maxProperties: MAX_ENTRIES, additionalProperties: true },
    (value) => isRecord(value) && Object.keys(value).length <= MAX_ENTRIES,
    `must be an object of at most ${MAX_ENTRIES} servers`,
  );
}
