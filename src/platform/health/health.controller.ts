import { Controller, Get, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { HealthService, type Readiness } from './health.service.js';

/** Longer than a result is shared. */
const RETRY_AFTER_S = '1';

@ApiTags('health')
@Controller('health')
@Access('public')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get('live')
  @ApiOperation({ summary: 'The process is alive.' })
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @ApiOperation({
    summary:
      'All health checks pass: database, queue, audit log and (where used) Redis. 503 with Retry-After if one fails.',
  })
  async ready(@Res({ passthrough: true }) reply: FastifyReply): Promise<Readiness> {
    const readiness = await this.health.readiness();
    if (readiness.status !== 'ok') reply.status(503).header('retry-after', RETRY_AFTER_S);
    return readiness;
  }
}
