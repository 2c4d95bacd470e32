import { Controller, Get, Headers, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiParam, ApiProduces, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import type { Principal } from '../../core/principal.js';
import { OpenToThreadTokens } from '../../core/thread-access.js';
import { RunStreamService } from './run-stream.service.js';
import { READS_VERSION } from './event-stream-range.js';
import { StreamResponder } from './stream-responder.js';
import { parseStreamQuery, type RawStreamQuery } from './stream-query.js';

/** Any valid credential of the organization may read its streams. */
@ApiTags('agent runs')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/agent-runtime/threads/:threadId/stream')
@Access('organization')
export class StreamController {
  constructor(
    private readonly streams: RunStreamService,
    private readonly responder: StreamResponder,
  ) {}

  @Get()
  @OpenToThreadTokens('read')
  @ApiOperation({
    summary: 'Streams the answer as Server-Sent Events with AI SDK UI-message chunks.',
    description: READS_VERSION,
  })
  @ApiProduces('text/event-stream')
  @ApiQuery({
    name: 'taskId',
    required: false,
    description: 'Stream this run, whether it is queued, running or just finished.',
  })
  @ApiQuery({
    name: 'follow',
    required: false,
    enum: ['true', 'false'],
    description: 'Keep the stream open across runs.',
  })
  @ApiQuery({
    name: 'idle',
    required: false,
    enum: ['204'],
    description: 'Respond with 204 at once if no run is queued or running.',
  })
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'Continue exactly after this frame.' })
  async stream(
    @Param('threadId') threadId: string,
    @Query() rawQuery: RawStreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Caller() caller: Principal,
  ): Promise<void> {
    const query = parseStreamQuery(rawQuery, lastEventId, request.headers.accept);
    const stream = await this.streams.openStream(caller, threadId, query);
    if (stream === undefined) return void reply.status(204).send();
    if (stream.firstRunId !== undefined) void reply.header('x-task-id', stream.firstRunId);
    this.responder.respond(stream, { caller, request, reply });
  }
}
