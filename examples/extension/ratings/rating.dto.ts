import { IsInt, IsISO8601, IsNumber, IsString, IsUUID, Length, Max, Min } from 'class-validator';
import { ItemOf, PageOf } from '../../../src/core/paging/page-of.js';
import { MayBeNull } from '../../../src/core/validation/presence.js';

export class RatingCreateInput {
  @IsString()
  @Length(1, 128)
  thread_id: string;

  @IsInt()
  @Min(1)
  @Max(5)
  stars: number;
}

export class RatingItem {
  @IsUUID()
  id: string;

  @IsString()
  thread_id: string;

  @IsInt()
  stars: number;

  @MayBeNull()
  @IsISO8601()
  escalated_at: string | null;

  @IsISO8601()
  created_at: string;
}

export class RatingOutput extends ItemOf(RatingItem) {}

export class RatingPage extends PageOf(RatingItem) {}

export class RatingReport {
  @IsInt()
  count: number;

  @MayBeNull()
  @IsNumber()
  average: number | null;
}
