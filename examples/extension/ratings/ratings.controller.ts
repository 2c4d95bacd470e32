import { Body, Controller, Get, Post } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { Access } from '../../../src/core/access.js';
import { Caller } from '../../../src/core/caller.js';
import type { Principal } from '../../../src/core/principal.js';
import { RequirePermission } from '../../../src/core/require-permission.js';
import { schemaOf } from '../../../src/core/validation/schema-of.js';
import { InputPipe } from '../../../src/core/validation/input.pipe.js';
import { RatingCreateInput, type RatingItem, type RatingReport } from './rating.dto.js';
import { RatingsService } from './ratings.service.js';

@ApiTags('ratings')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/ratings')
@Access('organization')
export class RatingsController {
  constructor(private readonly ratings: RatingsService) {}

  @Post()
  @ApiOperation({ summary: 'Rates a thread.' })
  @ApiBody({ schema: schemaOf(RatingCreateInput) })
  create(
    @Body(new InputPipe(RatingCreateInput)) input: RatingCreateInput,
    @Caller() caller: Principal,
  ): Promise<RatingItem> {
    return this.ratings.create(input, caller);
  }

  @Get('report')
  @RequirePermission('RATINGS_REPORT')
  @ApiOperation({ summary: 'Counts the ratings of the organization and averages their stars.' })
  report(@Caller() caller: Principal): Promise<RatingReport> {
    return this.ratings.report(caller);
  }
}
