import { Controller, Delete, Get, type OnApplicationShutdown, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { credentialMissing } from '../protocol/proxy-caller.js';
import { HostedMcp } from '../protocol/hosted-mcp.js';
import { readMessage, requireTakesStream } from '../protocol/inbound-message.js';
import { McpEndpoint } from '../http/mcp.controller.js';
import { OriginPolicy } from '../http/origin-policy.js';
import { type SelfCaller, SelfServer } from './self-server.js';

/** The service itself as an MCP server. */
@ApiTags('connection proxy')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/mcp/self')
export class SelfController implements OnApplicationShutdown {
  private readonly hosted: HostedMcp<SelfCaller>;

  constructor(
    private readonly servers: SelfServer,
    private readonly origins: OriginPolicy,
  ) {
    this.hosted = new HostedMcp((caller) => servers.for(caller));
  }

  @Post()
  @McpEndpoint()
  @ApiOperation({ summary: 'Serves the management tools to MCP clients.' })
  post(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  /** There are no unsolicited messages. The answer says so in the form that MCP requires. */
  @Get()
  @McpEndpoint()
  @ApiExcludeEndpoint()
  listen(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  @Delete()
  @McpEndpoint()
  @ApiExcludeEndpoint()
  end(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(request, reply);
  }

  private async answer(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.origins.requireAllowedOrigin(request.headers);
    const { principal, id: requestId } = request;
    if (principal === undefined) throw credentialMissing();
    const message = request.method === 'POST' ? readMessage(request.body) : undefined;
    if (message !== undefined) requireTakesStream(request.headers, message);
    const parsed: unknown = message && JSON.parse(message.body.toString('utf8'));
    const caller = { principal, requestId, reply };
    if (parsed !== undefined) await this.servers.requirePermitted(parsed, caller);
    await this.hosted.answerRequest(request, reply, parsed, caller);
  }

  onApplicationShutdown(): Promise<void> {
    return this.hosted.close();
  }
}
