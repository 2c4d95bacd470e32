import { IsBoolean, IsObject, IsString } from 'class-validator';
import type { ToolAnnotations } from '../../core/tools/management-tool.js';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent } from '../../core/validation/presence.js';
import type { JsonSchema } from '../../core/validation/schema-of.js';

/** Hints about a tool's behavior, as MCP names them. */
class ToolAnnotationsItem implements ToolAnnotations {
  @MayBeAbsent()
  @IsBoolean()
  readOnlyHint?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  destructiveHint?: boolean;

  @MayBeAbsent()
  @IsBoolean()
  idempotentHint?: boolean;
}

/** A management tool as listed for callers. */
export class ToolListing {
  @IsString()
  name: string;

  @IsString()
  description: string;

  /** The JSON Schema of the body. */
  @IsObject()
  input_schema: JsonSchema;

  /** The JSON Schema of the response. */
  @IsObject()
  output_schema: JsonSchema;

  @Nested(() => ToolAnnotationsItem)
  annotations: ToolAnnotations;
}

export class ToolListings {
  @NestedList(() => ToolListing)
  items: ToolListing[];
}
