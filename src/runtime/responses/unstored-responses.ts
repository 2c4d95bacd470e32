import { Injectable } from '@nestjs/common';
import type { RunEntity } from '../runs/records/run.entity.js';
import { ThreadService } from '../threads/thread.service.js';
import type { ResponseObject } from './response-object.js';

/** Deletes the threads of responses with `store: false`. */
@Injectable()
export class UnstoredResponses {
  constructor(private readonly threads: ThreadService) {}

  /**
   * Deletes the thread of a response that was read to its end by the request that asked for it, unless it is stored. What
   * cannot be deleted now, because the run waits for approvals or the database is away, is deleted by the retention task
   * some time after the run.
   */
  async forget({ store, status }: ResponseObject, { organizationId, threadId }: RunEntity): Promise<void> {
    if (store || status === 'queued' || status === 'in_progress') return;
    await this.threads.deleteIdle(organizationId, threadId).catch(() => undefined);
  }
}
