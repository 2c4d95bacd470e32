import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { AnswerBudget, holdUntilSent } from '../../core/answers/answer-budget.js';
import { Caller } from '../../core/caller.js';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { OpenToThreadTokens } from '../../core/thread-access.js';
import { InputPipe } from '../../core/validation/input.pipe.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { MAX_WAIT_S } from './turn-responder.js';
import { RunResult, RunResultQuery } from './run-result.dto.js';
import { RunResultService } from './run-result.service.js';
import { RunWaiting } from './run-waiting.js';

/** Whoever may read the stream of a run may read its result. */
@ApiTags('agent runs')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/agent-runtime/runs/:taskId')
@Access('organization')
export class RunResultController {
  constructor(
    private readonly results: RunResultService,
    private readonly waiting: RunWaiting,
    private readonly budget: AnswerBudget,
  ) {}

  @Get()
  @OpenToThreadTokens('run')
  @ApiOperation({ summary: 'Reads what a run has come to. Can wait for its end.' })
  @ApiQuery({
    name: 'wait',
    required: false,
    schema: { type: 'integer', minimum: 0, maximum: MAX_WAIT_S, default: 0 },
    description: 'Seconds to wait for the end of the run; after that, the response has what there is so far.',
  })
  @ApiResponse({
    status: 200,
    description: 'The result so far, also of a failed run',
    content: { 'application/json': { schema: schemaOf(RunResult) } },
  })
  async get(
    @Param('taskId') taskId: string,
    @Query(new InputPipe(RunResultQuery)) { wait = '0' }: RunResultQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<RunResult> {
    const run = await this.results.findReadable(caller, taskId);
    const withinMs = Number(wait) * 1000;
    if (withinMs > 0 && run.finishedAt === null) {
      const end = await this.waiting.untilOver(run, { caller, reply, withinMs });
      if (end === 'revoked') throw revoked();
    }
    const answer = this.budget.openAnswer(caller);
    return holdUntilSent(answer, reply, (held) => this.results.read(run.organizationId, run.id, held));
  }
}

function revoked(): DomainError {
  return new DomainError(
    'credential_invalid',
    'The credential has ended, or its permissions have changed, while the request waited. Repeat the request.',
  );
}
