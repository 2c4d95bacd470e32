import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  IsISO8601,
  IsObject,
  IsString,
  IsUUID,
  Matches,
} from 'class-validator';
import { PIN_RULES, type PinRule } from '../../connections/connection.js';
import { NestedList } from '../../core/validation/nested.js';
import { AnyJson, MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';

/** Of one call of CONNECTION_TOOLS_APPROVE, and of the names that CONNECTION_TOOLS_DIFF returns. */
const MAX_TOOLS = 1_000;
const FINGERPRINT = /^[0-9a-f]{64}$/;

export class ToolsApproveInput {
  @IsUUID()
  id: string;

  /** The names of listed tools. */
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_TOOLS)
  @ArrayUnique()
  @IsString({ each: true })
  tools: string[];

  /**
   * The fingerprints that CONNECTION_TOOLS_DIFF has shown for these tools. With them, a definition that has changed
   * since is not approved.
   */
  @MayBeAbsent()
  @IsArray()
  @ArrayMaxSize(MAX_TOOLS)
  @Matches(FINGERPRINT, { each: true })
  fingerprints?: string[];
}

export class ToolsApproved {
  /** The names of the tools that are approved now. */
  @IsArray()
  @IsString({ each: true })
  approved: string[];

  /** How many listed tools are not approved yet. */
  @IsInt()
  remaining: number;
}

/** One difference between two definitions, as in a JSON Patch (RFC 6902). */
export class DefinitionChange {
  @IsIn(['add', 'remove', 'replace'])
  op: 'add' | 'remove' | 'replace';

  /** A JSON Pointer into the definition. */
  @IsString()
  path: string;

  /** The approved value; absent if there is none. */
  @MayBeAbsent()
  @AnyJson()
  before?: unknown;

  /** The listed value; absent if there is none. */
  @MayBeAbsent()
  @AnyJson()
  after?: unknown;
}

/** A listed tool whose definition is not approved. */
export class ChangedTool {
  @IsString()
  name: string;

  /** `new`: no definition of a tool with this name is approved. */
  @IsIn(['changed', 'new'])
  status: 'changed' | 'new';

  /** SHA-256 of the canonical JSON (RFC 8785) of the definition. */
  @IsString()
  fingerprint: string;

  /** The approved tool that differs from a new one only in its names. */
  @MayBeNull()
  @IsString()
  renamed_from: string | null;

  /** Against the definition that was approved last, or that of the renamed tool; empty for another new tool. */
  @NestedList(() => DefinitionChange)
  changes: DefinitionChange[];

  /** The tool as the upstream lists it. */
  @IsObject()
  definition: object;
}

/** What is not approved of the tools of a connection. */
export class ToolsDiff {
  @IsIn(PIN_RULES)
  pin: PinRule;

  /** When the tools were listed; null if they never were. */
  @MayBeNull()
  @IsISO8601()
  listed_at: string | null;

  /** How many listed tools are not approved. */
  @IsInt()
  total: number;

  /** The first 100 of them. */
  @NestedList(() => ChangedTool)
  items: ChangedTool[];

  /** Names of approved tools that are no longer listed, at most 1,000. */
  @IsArray()
  @IsString({ each: true })
  removed: string[];

  /** Why the upstream could not be listed now, in a sentence; the answer is about its last list. */
  @MayBeAbsent()
  @IsString()
  error?: string;
}

export { MAX_TOOLS as MAX_NAMED_TOOLS };
