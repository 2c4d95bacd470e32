import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsIn,
  IsObject,
  IsString,
  IsUUID,
  registerDecorator,
  ValidateNested,
} from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { isRecord } from '../core/is-record.js';
import { OpenMap } from '../core/validation/validate-input.js';
import { MayBeAbsent } from '../core/validation/presence.js';

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
  return (target, property) => {
    JSONSchema({ type: 'object', maxProperties: MAX_ENTRIES, additionalProperties: true })(target, property as string);
    registerDecorator({
      name: 'isServerMap',
      target: target.constructor,
      propertyName: property as string,
      validator: {
        validate: (value: unknown) => isRecord(value) && Object.keys(value).length <= MAX_ENTRIES,
        defaultMessage: () => `must be an object of at most ${MAX_ENTRIES} servers`,
      },
    });
  };
}
