import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { AnswerBudget, holdUntilSent, withAnswer } from '../../core/answers/answer-budget.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { HttpTelemetry } from '../../platform/telemetry/http-telemetry.js';
import { AnswerSuperseding } from '../threads/answer-superseding.js';
import { type InputItemList, pageOf } from './input-items.js';
import { AnswersAsOpenAi } from './openai-errors.js';
import type { ResponseObject } from './response-object.js';
import { ResponsePosting } from './response-posting.js';
import { parseInputItemsQuery, parseResponseQuery } from './response-query.js';
import { requireOver, ResponseReader } from './response-reader.js';
import { ResponseRequest, ResponseRequestPipe } from './response-request.dto.js';
import { type ResponseMode, ResponseResponder, ResponseStreams } from './response-responder.js';
import { DELETED_RESPONSE, DescribesObject, DescribesResponse, INPUT_ITEMS } from './response-schemas.js';

/** Any valid credential of the organization may run its agents; a new thread needs the permission to make threads. */
@ApiTags('responses')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/v1/responses')
@Access('organization')
export class ResponsesController {
  constructor(
    private readonly posting: ResponsePosting,
    private readonly reader: ResponseReader,
    private readonly responder: ResponseResponder,
    private readonly streams: ResponseStreams,
    private readonly superseding: AnswerSuperseding,
    private readonly budget: AnswerBudget,
    private readonly http: HttpTelemetry,
  ) {}

  @Post()
  @HttpCode(200)
  @AnswersAsOpenAi()
  @ApiOperation({ summary: "Asks an agent, as OpenAI's clients do. The response is a run of a thread." })
  @ApiBody({ schema: schemaOf(ResponseRequest) })
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'Requests that repeat this key within 24 hours return the same run.',
  })
  @DescribesResponse({ isStreamed: true })
  async create(
    @Body(ResponseRequestPipe) input: ResponseRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<ResponseObject | undefined> {
    const trace = this.http.traceContextOf(request);
    const checked = await this.posting.check(input, {
      caller,
      requestId: request.id,
      trace,
      idempotencyKey,
    });
    return this.responder.start({ caller, request, reply }, checked, modeOf(input));
  }

  @Get(':responseId')
  @AnswersAsOpenAi()
  @ApiOperation({ summary: 'Reads a response, however far it is, or its events from the beginning or after one.' })
  @ApiQuery({ name: 'stream', required: false, enum: ['true', 'false'] })
  @ApiQuery({
    name: 'starting_after',
    required: false,
    schema: { type: 'integer', minimum: 0 },
    description: 'With stream=true: only the events after the one with this sequence number.',
  })
  @DescribesResponse({ isStreamed: true })
  async get(
    @Param('responseId') responseId: string,
    @Query() query: Record<string, unknown>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<ResponseObject | undefined> {
    const { stream, startingAfter } = parseResponseQuery(query);
    const found = await this.reader.find(caller, responseId);
    if (!stream) return this.responder.read({ caller, request, reply }, found);
    await this.streams.resume({ caller, request, reply }, found, startingAfter);
    return undefined;
  }

  @Post(':responseId/cancel')
  @HttpCode(200)
  @AnswersAsOpenAi()
  @DescribesResponse({ isStreamed: false })
  @ApiOperation({ summary: 'Cancels the run of a response. A response that is over does not change.' })
  async cancel(
    @Param('responseId') responseId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<ResponseObject> {
    return this.responder.cancel({ caller, request, reply }, await this.reader.find(caller, responseId));
  }

  @Get(':responseId/input_items')
  @AnswersAsOpenAi()
  @DescribesObject('A page of items', INPUT_ITEMS)
  @ApiOperation({ summary: 'Lists the input of a response, the newest item first.' })
  @ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } })
  @ApiQuery({ name: 'order', required: false, enum: ['asc', 'desc'] })
  @ApiQuery({ name: 'after', required: false, description: 'The id of the item before the first one.' })
  async inputItems(
    @Param('responseId') responseId: string,
    @Query() query: Record<string, unknown>,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<InputItemList> {
    const range = parseInputItemsQuery(query);
    const found = await this.reader.find(caller, responseId);
    const answer = this.budget.openAnswer(caller);
    return holdUntilSent(answer, reply, async (held) => pageOf(await this.reader.readInput(found, held), range));
  }

  @Delete(':responseId')
  @AnswersAsOpenAi()
  @DescribesObject('The response is deleted', DELETED_RESPONSE)
  @ApiOperation({ summary: 'Takes the newest response of a thread out of it. Its messages are superseded.' })
  async delete(
    @Param('responseId') responseId: string,
    @Caller() caller: Principal,
  ): Promise<{ id: string; object: 'response'; deleted: true }> {
    const found = await this.reader.find(caller, responseId);
    requireOver(found, 'response_id');
    await withAnswer(this.budget, caller, (answer) => this.reader.requireLast(found, answer, 'response_id'));
    await this.superseding.supersede(found.run);
    return { id: responseId, object: 'response', deleted: true };
  }
}

function modeOf({ stream, background }: ResponseRequest): ResponseMode {
  if (stream === true) return 'stream';
  return background === true ? 'background' : 'complete';
}
