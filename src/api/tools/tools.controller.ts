import { Body, Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { AnswerBudget, holdUntilSent } from '../../core/answers/answer-budget.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { OpenToThreadTokens } from '../../core/thread-access.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { untilClosed } from '../../platform/http/once-closed.js';
import { ToolListings } from './tool-listing.dto.js';
import { ToolsService } from './tools.service.js';

/**
 * The HTTP endpoint of the management tools. The OpenAPI document describes each tool separately, from the registry.
 */
@ApiTags('management tools')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/tools')
export class ToolsController {
  constructor(
    private readonly tools: ToolsService,
    private readonly budget: AnswerBudget,
  ) {}

  @Get()
  @Access('organization')
  @ApiOperation({ summary: 'Lists the management tools that the caller can call, with their JSON Schemas.' })
  @ApiResponse({
    status: 200,
    description: 'The tools, by name',
    content: { 'application/json': { schema: schemaOf(ToolListings) } },
  })
  list(@Caller() caller: Principal): ToolListings {
    return { items: this.tools.listFor(caller) };
  }

  @Post(':name')
  @HttpCode(200)
  @Access('tool')
  @OpenToThreadTokens('tool')
  @ApiExcludeEndpoint()
  call(
    @Param('name') name: string,
    @Body() body: unknown,
    @Caller() caller: Principal,
    @Req() { id: requestId }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const held = this.budget.openAnswer(caller, untilClosed(reply));
    const call = { entryPoint: 'api', caller, requestId } as const;
    return holdUntilSent(held, reply, (answer) => this.tools.callManagementTool(name, body ?? {}, call, answer));
  }
}
