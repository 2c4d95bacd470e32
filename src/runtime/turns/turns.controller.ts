import { applyDecorators, Body, Controller, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiProduces,
  ApiQuery,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { OpenToThreadTokens } from '../../core/thread-access.js';
import { InputPipe, NoQuery } from '../../core/validation/input.pipe.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { RunRequestPipe } from '../runs/run-request.pipe.js';
import { RegenerateRequest, RunRequest, SteerRequest, SteerQuery } from '../runs/run-request.dto.js';
import { type RunRequestCall, RunRequestService } from '../runs/run-request.service.js';
import { SteerRequestService } from '../runs/steer-request.service.js';
import { READS_VERSION } from '../streaming/event-stream-range.js';
import { HttpTelemetry } from '../../platform/telemetry/http-telemetry.js';
import { RunResult } from './run-result.dto.js';
import { type TurnAnswer, TurnResponder } from './turn-responder.js';

const TASK_ID = {
  type: 'object',
  required: ['taskId'],
  properties: { taskId: { type: 'string', format: 'uuid' } },
};
const STEERED = {
  type: 'object',
  required: ['taskId', 'steered'],
  properties: {
    taskId: { type: 'string', format: 'uuid' },
    steered: { type: 'boolean', description: 'The run was under way. False for a run of the message alone.' },
  },
};

/** What the routes that start a run have in common in the reference. */
function DescribesTurn(accepted: object = TASK_ID): MethodDecorator {
  return applyDecorators(
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'Requests that repeat this key within 24 hours return the same run.',
    }),
    ApiHeader({
      name: 'Prefer',
      required: false,
      description:
        '`wait=<1..60>` (RFC 7240): wait this many seconds for the end of the run, and answer with its result.',
    }),
    ApiProduces('application/json', 'text/event-stream'),
    ApiResponse({
      status: 202,
      description: 'The run is accepted',
      content: { 'application/json': { schema: accepted } },
    }),
    ApiResponse({
      status: 200,
      description:
        'With `Prefer: wait`, the result of the run; with `Accept: text/event-stream`, its stream. ' + READS_VERSION,
      content: {
        'application/json': { schema: schemaOf(RunResult) },
        'text/event-stream': { schema: { type: 'string' } },
      },
    }),
  );
}

/** Any valid credential of the organization may run its agents: no further grant is needed. */
@ApiTags('agent runs')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/agent-runtime/threads/:threadId')
@Access('organization')
export class TurnsController {
  constructor(
    private readonly requests: RunRequestService,
    private readonly steers: SteerRequestService,
    private readonly responder: TurnResponder,
    private readonly http: HttpTelemetry,
  ) {}

  @Post('messages')
  @OpenToThreadTokens('post')
  @HttpCode(202)
  @ApiOperation({
    summary:
      'Posts a message and enqueues a run. Answers at once, with the result (`Prefer`), or with the stream (`Accept`).',
  })
  @ApiBody({ schema: schemaOf(RunRequest) })
  @DescribesTurn()
  post(
    @Param('threadId') threadId: string,
    @Query(new InputPipe(NoQuery)) _query: NoQuery,
    @Body(new RunRequestPipe(RunRequest)) input: RunRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<TurnAnswer> {
    const call = this.callOf(request, caller, idempotencyKey);
    return this.responder.respond({ caller, threadId, request, reply }, () =>
      this.requests.requestRun(threadId, input, call),
    );
  }

  @Post('steer')
  @OpenToThreadTokens('post')
  @HttpCode(202)
  @ApiOperation({
    summary:
      'Adds a message to the run that is under way: it takes the message before its next model call. Otherwise, or if ' +
      'the run ends first, the message gets a run of its own.',
  })
  @ApiQuery({
    name: 'interrupt',
    required: false,
    schema: { type: 'boolean', default: false },
    description: 'Ends the current step of the run first. What it has said so far stays.',
  })
  @ApiBody({ schema: schemaOf(SteerRequest) })
  @DescribesTurn(STEERED)
  steer(
    @Param('threadId') threadId: string,
    @Query(new InputPipe(SteerQuery)) { interrupt }: SteerQuery,
    @Body(new RunRequestPipe(SteerRequest)) input: SteerRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<TurnAnswer> {
    const call = { ...this.callOf(request, caller, idempotencyKey), interrupts: interrupt === 'true' };
    return this.responder.respond({ caller, threadId, request, reply }, () => this.steers.steer(threadId, input, call));
  }

  @Post('regenerate')
  @OpenToThreadTokens('post')
  @HttpCode(202)
  @ApiOperation({
    summary: 'Answers a question of the thread again. The earlier answer and everything after it is superseded.',
  })
  @ApiBody({ schema: schemaOf(RegenerateRequest), required: false })
  @DescribesTurn()
  regenerate(
    @Param('threadId') threadId: string,
    @Query(new InputPipe(NoQuery)) _query: NoQuery,
    @Body(new InputPipe(RegenerateRequest)) input: RegenerateRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<TurnAnswer> {
    const call = this.callOf(request, caller, idempotencyKey);
    return this.responder.respond({ caller, threadId, request, reply }, () =>
      this.requests.regenerate(threadId, input, call),
    );
  }

  private callOf(request: FastifyRequest, caller: Principal, idempotencyKey: string | undefined): RunRequestCall {
    return { caller, requestId: request.id, trace: this.http.traceContextOf(request), idempotencyKey };
  }
}
