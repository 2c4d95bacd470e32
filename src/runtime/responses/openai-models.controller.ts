import { Controller, Get, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { AgentsService } from '../../agents/records/agents.service.js';
import { Access } from '../../core/access.js';
import { AnswerBudget } from '../../core/answers/answer-budget.js';
import { holdUntilSent } from '../../core/answers/hold-until-sent.js';
import { Caller } from '../../core/caller.js';
import { MAX_LIMIT } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { RequirePermission } from '../../core/require-permission.js';
import { hasRunAccess } from '../../core/run-access.js';
import { AnswersAsOpenAi } from './openai-errors.js';
import { DescribesObject, MODELS } from './response-schemas.js';

/** An agent as OpenAI's clients list models. */
interface OpenAiModel {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
}

/** The agents that the caller can run, as models. */
@ApiTags('responses')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/v1/models')
@Access('organization')
export class OpenAiModelsController {
  constructor(
    private readonly agents: AgentsService,
    private readonly budget: AnswerBudget,
  ) {}

  @Get()
  @AnswersAsOpenAi()
  @RequirePermission('COLLECTION_VIRTUAL_MCP_LIST')
  @DescribesObject('The models', MODELS)
  @ApiOperation({ summary: 'Lists the active agents that the caller can run, as models.' })
  list(
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<{ object: 'list'; data: OpenAiModel[] }> {
    return holdUntilSent(this.budget.openAnswer(caller), reply, async (answer) => {
      const data: OpenAiModel[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await this.agents.list({ limit: MAX_LIMIT, ...(cursor && { cursor }) }, caller, answer);
        const open = page.items.filter(({ id, status }) => status === 'active' && hasRunAccess(caller, id));
        data.push(...open.map(({ id, created_at: at }) => modelOf(id, at, caller)));
        cursor = page.nextCursor ?? null;
      }
      return { object: 'list', data };
    });
  }
}

function modelOf(id: string, createdAt: string, { organization }: Principal): OpenAiModel {
  return { id, object: 'model', created: Math.floor(Date.parse(createdAt) / 1000), owned_by: organization.slug };
}
