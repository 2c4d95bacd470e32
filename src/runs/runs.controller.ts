import { Body, Controller, Headers, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../common/access.js';
import { Caller } from '../common/caller.js';
import type { Principal } from '../common/principal.js';
import { OpenToThreadTokens } from '../common/thread-access.js';
import { schemaOf } from '../common/validation/schema-of.js';
import { InputPipe } from '../common/validation/input.pipe.js';
import { RequestLimits } from '../limits/request-limits.js';
import { RunRequestPipe } from './parse-run-request.js';
import { HttpTelemetry } from '../telemetry/http-telemetry.js';
import { RunCancellationService } from './run-cancellation.service.js';
import { RunCancelRequest } from './run-cancel-request.dto.js';
import { RunRequest } from './run-request.dto.js';
import { RunRequestService } from './run-request.service.js';

/** Any valid credential of the organization may run its agents: no further grant is needed. */
@ApiTags('agent runs')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/agent-runtime/threads/:threadId')
@Access('organization')
export class RunsController {
  constructor(
    private readonly requests: RunRequestService,
    private readonly cancellation: RunCancellationService,
    private readonly http: HttpTelemetry,
    private readonly limits: RequestLimits,
  ) {}

  @Post('messages')
  @OpenToThreadTokens('post')
  @HttpCode(202)
  @ApiOperation({ summary: 'Posts a message and enqueues a run. Read the answer from the stream.' })
  @ApiBody({ schema: schemaOf(RunRequest) })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'Requests that repeat this key within 24 hours return the same run.',
  })
  async post(
    @Param('threadId') threadId: string,
    @Body(RunRequestPipe) input: RunRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<{ taskId: string }> {
    await this.limits.countRun(caller, reply);
    return this.requests.requestRun(threadId, input, {
      caller,
      requestId: request.id,
      trace: this.http.traceContextOf(request),
      idempotencyKey,
    });
  }

  @Post('cancel')
  @OpenToThreadTokens('cancel')
  @HttpCode(202)
  @ApiOperation({ summary: 'Cancels one run, or all running and queued runs of the thread.' })
  @ApiBody({ schema: schemaOf(RunCancelRequest), required: false })
  cancel(
    @Param('threadId') threadId: string,
    @Body(new InputPipe(RunCancelRequest)) input: RunCancelRequest,
    @Caller() caller: Principal,
  ): Promise<{ taskIds: string[] }> {
    return this.cancellation.cancelOnThread(threadId, input, caller);
  }
}
