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
} from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { type SortDirection, SORT_DIRECTIONS } from './list-spec.js';
import { NestedList } from '../validation/nested.js';
import { DomainError } from '../domain-error.js';

export const MAX_LIMIT = 1000;
export const DEFAULT_LIMIT = 100;
/** The largest `offset`: the database reads all skipped rows. The cursor has no such limit. */
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
 * The input of every LIST tool. The fields that `orderBy` and `where` accept depend on the list, so `paginate` checks
 * them. `null` counts as absent, so that a page's `nextCursor` can be sent back unchanged.
 */
export class ListInput {
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  @JSONSchema({
    description: 'Maximum number of items per page. A page of large items holds fewer.',
    default: DEFAULT_LIMIT,
  })
  limit?: number | null;

  @IsOptional()
  @IsString()
  @JSONSchema({ description: 'The nextCursor of the previous page. Send the same orderBy and where with it.' })
  cursor?: string | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_OFFSET)
  @JSONSchema({ description: 'Number of items to skip. Cannot be combined with cursor; use cursor for long lists.' })
  offset?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  @JSONSchema({
    description:
      'Stops counting after this many items, which is much faster for long lists: a greater totalCount means that ' +
      'there are more. Default: counts all.',
  })
  count_limit?: number | null;

  @IsOptional()
  @NestedList(() => ListOrder)
  @JSONSchema({ description: 'Sort order, most significant term first. Each field can occur once.' })
  orderBy?: ListOrder[] | null;

  @IsOptional()
  @IsObject()
  @JSONSchema({
    description:
      'A condition {field:[name], operator: eq|gt|gte|lt|lte|in|like|contains|matches, value} or a group {operator: ' +
      'and|or|not, conditions:[…]}. At most 50 conditions, groups at most 5 deep. like takes % and _; like and ' +
      'contains ignore case; matches searches for words; not matches items that do not match all of its conditions.',
  })
  where?: Record<string, unknown> | null;
}

/** One fault in the input of a LIST tool. The message never quotes the input. */
export function listFault(path: string, code: string, message: string): DomainError {
  return new DomainError('invalid_request', message, [{ path, code, message }]);
}
