import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { type SortDirection, SORT_DIRECTIONS } from './list-spec.js';

export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;
/** The largest `offset`: the database reads all that is skipped. The cursor leads further. */
export const MAX_OFFSET = 100_000;

/** One term of `orderBy`. `field` is a list of exactly one published field name. */
export class ListOrder {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(1)
  @IsString({ each: true })
  field: string[];

  @IsIn(SORT_DIRECTIONS)
  direction: SortDirection;
}

/**
 * The input of every LIST tool. Which fields may be named in `orderBy` and `where` depends on the list, so `paginate` checks
 * that. `null` counts as absent, so that a page's `nextCursor` can be sent back as it is.
 */
export class ListInput {
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  @JSONSchema({ description: 'Items per page at most; a page of large items ends earlier.', default: DEFAULT_LIMIT })
  limit?: number | null;

  @IsOptional()
  @IsString()
  @JSONSchema({ description: 'The nextCursor of the page before, sent with the same orderBy and where.' })
  cursor?: string | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_OFFSET)
  @JSONSchema({ description: 'Items to skip; not together with cursor, which leads further than offset.' })
  offset?: number | null;

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ListOrder)
  @JSONSchema({ description: 'Sort order, most significant term first. No field twice.' })
  orderBy?: ListOrder[] | null;

  @IsOptional()
  @IsObject()
  @JSONSchema({
    description:
      'A condition {field:[name], operator: eq|gt|gte|lt|lte|in|like|contains, value} or a group ' +
      '{operator: and|or|not, conditions:[…]}. At most 50 conditions, groups at most 5 deep. like takes % and _; like and ' +
      'contains ignore case; not holds when its conditions do not all hold.',
  })
  where?: Record<string, unknown> | null;
}
