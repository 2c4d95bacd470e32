import { Body, Controller, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { RequirePermission } from '../../core/require-permission.js';
import { setRunLocation } from '../../core/run-location.js';
import { OpenToThreadTokens } from '../../core/thread-access.js';
import { InputPipe, NoQuery } from '../../core/validation/input.pipe.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { ApprovalAccepted, ApprovalRequest } from './approval.dto.js';
import { ApprovalService } from './approval.service.js';

/** In addition to what posting needs, answers need `RUN_APPROVE`: a key that posts must not approve its own calls. */
@ApiTags('agent runs')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/agent-runtime/threads/:threadId/approvals/:approvalId')
@Access('organization')
export class ApprovalsController {
  constructor(private readonly service: ApprovalService) {}

  @Post()
  @OpenToThreadTokens('approve')
  @RequirePermission('RUN_APPROVE')
  @HttpCode(202)
  @ApiOperation({
    summary: 'Approves or denies a tool call. The run continues once all its approvals are answered.',
    description: 'Needs the permission RUN_APPROVE. The same answer by the same caller can be repeated.',
  })
  @ApiBody({ schema: schemaOf(ApprovalRequest) })
  @ApiResponse({
    status: 202,
    description: 'The answer is on record',
    content: { 'application/json': { schema: schemaOf(ApprovalAccepted) } },
  })
  @ApiResponse({
    status: 409,
    description:
      '`approval_closed`: another answer came first, the time has passed, or the run was cancelled. ' +
      '`approved`, `reason` and `closed_as` say what is on record.',
  })
  async answer(
    @Param('threadId') threadId: string,
    @Param('approvalId') approvalId: string,
    @Query(new InputPipe(NoQuery)) _query: NoQuery,
    @Body(new InputPipe(ApprovalRequest)) input: ApprovalRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<ApprovalAccepted> {
    const { runId, accepted } = await this.service.answer({ threadId, approvalId }, input, caller);
    setRunLocation(reply, caller, runId);
    return accepted;
  }
}
