import { Body, Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { HttpTelemetry } from '../../platform/telemetry/http-telemetry.js';
import { AnswersAsOpenAi } from './openai-errors.js';
import type { ResponseObject } from './response-object.js';
import { ResponsePosting } from './response-posting.js';
import { ResponseReader } from './response-reader.js';
import { ResponseRequest, ResponseRequestPipe } from './response-request.dto.js';
import { type ResponseMode, ResponseResponder } from './response-responder.js';

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
    private readonly http: HttpTelemetry,
  ) {}

  @Post()
  @HttpCode(200)
  @AnswersAsOpenAi()
  @ApiOperation({ summary: "Asks an agent, as OpenAI's clients do. The response is a run of a thread." })
  @ApiBody({ schema: schemaOf(ResponseRequest) })
  @ApiProduces('application/json', 'text/event-stream')
  async create(
    @Body(ResponseRequestPipe) input: ResponseRequest,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<ResponseObject | undefined> {
    const trace = this.http.traceContextOf(request);
    const checked = await this.posting.check(input, {
      caller,
      requestId: request.id,
      trace,
      idempotencyKey: undefined,
    });
    const { post, threadId } = checked;
    return this.responder.start({ caller, request, reply }, { threadId, begunBy: null, mode: modeOf(input) }, post);
  }

  @Get(':responseId')
  @AnswersAsOpenAi()
  @ApiOperation({ summary: 'Reads a response, however far it is.' })
  async get(
    @Param('responseId') responseId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<ResponseObject> {
    return this.responder.read({ caller, request, reply }, await this.reader.find(caller, responseId));
  }
}

function modeOf({ stream, background }: ResponseRequest): ResponseMode {
  if (stream === true) return 'stream';
  return background === true ? 'background' : 'complete';
}
