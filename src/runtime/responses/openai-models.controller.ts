import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AgentItem } from '../../agents/records/agent.dto.js';
import { AgentsService } from '../../agents/records/agents.service.js';
import { Access } from '../../core/access.js';
import { AnswerBudget, holdUntilSent } from '../../core/answers/answer-budget.js';
import { Caller } from '../../core/caller.js';
import { MAX_LIMIT } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { RequirePermission } from '../../core/require-permission.js';
import { hasRunAccess } from '../../core/run-access.js';
import { AnswersAsOpenAi } from './openai-errors.js';
import { fault } from './response-input.js';
import { DescribesObject, MODEL, MODELS } from './response-schemas.js';

/** An agent as OpenAI's clients list models. */
interface OpenAiModel {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: string;
  /** Names the model too. */
  readonly slug: string;
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
        data.push(...page.items.filter((agent) => isOpen(agent, caller)).map((agent) => modelOf(agent, caller)));
        cursor = page.nextCursor ?? null;
      }
      return { object: 'list', data };
    });
  }

  @Get(':model')
  @AnswersAsOpenAi()
  @RequirePermission('COLLECTION_VIRTUAL_MCP_LIST')
  @DescribesObject('The model', MODEL)
  @ApiOperation({ summary: 'Reads an active agent that the caller can run, by its id or its slug, as a model.' })
  async get(@Param('model') model: string, @Caller() caller: Principal): Promise<OpenAiModel> {
    const agent = await this.agents.findNamed(caller.organization.id, model);
    if (agent === undefined || !isOpen(agent, caller))
      throw fault('agent_not_found', 'model', 'There is no active agent with this id or slug.');
    return modelOf(await this.agents.get(agent.id, caller), caller);
  }
}

/** The agents that the list has. */
function isOpen({ id, status }: Pick<AgentItem, 'id' | 'status'>, caller: Principal): boolean {
  return status === 'active' && hasRunAccess(caller, id);
}

function modelOf({ id, slug, created_at: at }: AgentItem, { organization }: Principal): OpenAiModel {
  return { id, object: 'model', created: Math.floor(Date.parse(at) / 1000), owned_by: organization.slug, slug };
}
