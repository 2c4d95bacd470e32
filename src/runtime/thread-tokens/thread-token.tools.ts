import { Injectable } from '@nestjs/common';
import type { Principal } from '../../core/principal.js';
import { CREATES, ManagementTool } from '../../core/tools/management-tool.js';
import { ThreadTokenCreated, ThreadTokenCreateInput } from './thread-token.dto.js';
import { ThreadTokenService } from './thread-token.service.js';

@Injectable()
export class ThreadTokenTools {
  constructor(private readonly service: ThreadTokenService) {}

  @ManagementTool({
    name: 'THREAD_TOKEN_CREATE',
    description:
      'Creates a short-lived token for one thread, which can be given to a browser. post opens posting messages, ' +
      'cancel cancelling runs, approve approvals; read opens the stream, RUN_GET, COLLECTION_THREADS_GET and ' +
      'COLLECTION_THREAD_MESSAGES_LIST of that thread. The caller must be allowed the same. The token ends with ' +
      'the credential that created it. Only this response contains the token.',
    input: ThreadTokenCreateInput,
    output: ThreadTokenCreated,
    annotations: CREATES,
  })
  create(input: ThreadTokenCreateInput, caller: Principal): Promise<ThreadTokenCreated> {
    return this.service.create(input, caller);
  }
}
