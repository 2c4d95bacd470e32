import { Body, Controller, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { setRunLocation, setThreadLocation } from '../../core/run-location.js';
import { OpenToThreadTokens } from '../../core/thread-access.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { InputPipe, NoQuery } from '../../core/validation/input.pipe.js';
import { RunCancellationService } from './run-cancellation.service.js';
import { RunCancelRequest } from './run-request.dto.js';

/** Any valid credential of the organization may cancel its runs: no further grant is needed. */
@ApiTags('agent runs')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/agent-runtime/threads/:threadId')
@Access('organization')
export class RunsController {
  constructor(private readonly cancellation: RunCancellationService) {}

  @Post('cancel')
  @OpenToThreadTokens('cancel')
  @HttpCode(202)
  @ApiOperation({ summary: 'Cancels one run, or all running and queued runs of the thread.' })
  @ApiBody({ schema: schemaOf(RunCancelRequest), required: false })
  async cancel(
    @Param('threadId') threadId: string,
    @Query(new InputPipe(NoQuery)) _query: NoQuery,
    @Body(new InputPipe(RunCancelRequest)) input: RunCancelRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<{ taskIds: string[] }> {
    const cancelled = await this.cancellation.cancelOnThread(threadId, input, caller);
    const runId = input.taskId ?? cancelled.taskIds[0];
    if (runId === undefined) setThreadLocation(reply, caller, threadId);
    else setRunLocation(reply, caller, runId);
    return cancelled;
  }
}
