import { Injectable } from '@nestjs/common';
import { databaseNow } from '../../core/database-time.js';
import { newId } from '../../core/ids.js';
import type { Principal } from '../../core/principal.js';
import { requireRunAccess } from '../../core/run-access.js';
import { hashSecret } from '../../core/secret-form.js';
import { ThreadService } from '../threads/thread.service.js';
import type { ThreadTokenCreated, ThreadTokenCreateInput } from './thread-token.dto.js';
import { requireHeld, THREAD_TOKEN } from './thread-token.verifier.js';
import { ThreadTokenRepository } from './thread-token.repository.js';

const DEFAULT_LIFETIME_SECONDS = 900;

/** Creates browser tokens. The value is returned once, and only its hash is stored. */
@Injectable()
export class ThreadTokenService {
  constructor(
    private readonly repository: ThreadTokenRepository,
    private readonly threads: ThreadService,
  ) {}

  /**
   * @throws DomainError `thread_not_found`; `permission_denied` or `permission_widening` for what the caller itself
   *   cannot do with the
   * thread
   */
  async create(input: ThreadTokenCreateInput, caller: Principal): Promise<ThreadTokenCreated> {
    const organizationId = caller.organization.id;
    const thread = await this.threads.findThread(organizationId, input.thread_id);
    requireRunAccess(caller, thread.virtualMcpId);
    requireHeld(caller.permissions, input.permissions);
    const token = THREAD_TOKEN.generate();
    const expiresAt = new Date(databaseNow() + (input.expiresIn ?? DEFAULT_LIFETIME_SECONDS) * 1000);
    await this.repository.insert({
      id: newId(),
      organizationId,
      threadId: thread.id,
      tokenHash: hashSecret(token),
      permissions: input.permissions,
      makerKind: caller.kind,
      makerId: caller.credentialId,
      callerId: caller.callerId,
      userId: caller.userId,
      apiKeyId: caller.apiKeyId,
      grantId: caller.grantId,
      clientId: caller.clientId,
      resource: caller.resource ?? null,
      scopes: caller.scopes === undefined ? null : [...caller.scopes],
      expiresAt,
    });
    return { token, expires_at: expiresAt.toISOString() };
  }
}
