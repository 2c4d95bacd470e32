import { Controller, Get, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { Caller } from '../../core/caller.js';
import { DomainError } from '../../core/domain-error.js';
import { allows, SELF } from '../../core/permissions.js';
import type { Principal } from '../../core/principal.js';
import { AppConfig } from '../../core/config/app-config.js';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import type { Change, ChangeType } from './change.js';
import { ChangeFeed } from './change-feed.js';

/** The permission that shows changes of a type; everybody with one of them gets `resync`. */
const PERMISSIONS: Readonly<Record<Exclude<ChangeType, 'resync'>, string>> = {
  run: 'RUN_LIST',
  approval: 'RUN_LIST',
  thread: 'COLLECTION_THREADS_LIST',
  connection: 'COLLECTION_CONNECTIONS_LIST',
  schedule: 'SCHEDULE_LIST',
  webhook: 'WEBHOOK_LIST',
};

/** A reader that leaves this much unread is disconnected. */
const MAX_UNREAD_BYTES = 256 * 1024;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
};

/** Tells open views what to read again. */
@ApiTags('monitoring')
@ApiParam({ name: 'org', description: 'Organization slug' })
@Controller('api/:org/events')
@Access('organization')
export class ChangesController {
  constructor(
    private readonly feed: ChangeFeed,
    private readonly credentials: OpenCredentials,
    private readonly config: AppConfig,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'streamChanges',
    summary: 'Streams changes of runs, threads, connections, approvals, schedules and webhooks as Server-Sent Events.',
    description:
      'Each event is `{type: run|thread|connection|approval|schedule|webhook, id, thread_id?, status, at}`, ' +
      'within about a second after the change; short-lived statuses can be left out. A run also changes with each ' +
      'of its steps, and a webhook when a delivery was tried. It needs RUN_LIST for runs and approvals, ' +
      'COLLECTION_THREADS_LIST for threads, COLLECTION_CONNECTIONS_LIST for connections, SCHEDULE_LIST for ' +
      'schedules or WEBHOOK_LIST for webhooks, and shows what they show. The first event, and every event after ' +
      'which changes may be missing, is `{type: resync, at}`: read again what you show.',
  })
  @ApiProduces('text/event-stream')
  stream(@Caller() caller: Principal, @Res() reply: FastifyReply): void {
    const isShown = ({ type }: Change): boolean =>
      type === 'resync' || allows(caller.permissions, SELF, PERMISSIONS[type]);
    if (!Object.values(PERMISSIONS).some((permission) => allows(caller.permissions, SELF, permission))) {
      throw new DomainError('permission_denied', 'The credential holds no permission for what the stream shows.');
    }
    const { raw } = reply;
    reply.hijack();
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
    raw.flushHeaders();
    const send = (text: string): void => {
      if (raw.destroyed) return;
      raw.write(text);
      if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy();
    };
    const unlisten = this.feed.listen(caller.organization.id, (changes) => {
      const text = changes.filter(isShown).map((change) => `data: ${JSON.stringify(change)}\n\n`);
      if (text.length > 0) send(text.join(''));
    });
    const timer = setInterval(() => send(': keep-alive\n\n'), this.config.settings.streamKeepAliveMs);
    const unwatch = this.credentials.watchPermissions(caller, () => raw.destroy());
    onceClosed(reply, () => {
      unlisten();
      unwatch();
      clearInterval(timer);
    });
  }
}
