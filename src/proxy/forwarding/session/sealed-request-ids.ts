import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { Session } from './sealed-sessions.js';

/** Callers and this service reject longer ids. */
const MAX_LENGTH = 1024;

/**
 * Turns where an answer belongs into the id of the request that a client answers, and back. The id is encrypted for the
 * client's session, so any process can read it, and no caller can forge one or use that of another session.
 */
@Injectable()
export class SealedRequestIds {
  constructor(private readonly vault: VaultService) {}

  /** Undefined if the id would be too long. */
  seal(session: Pick<Session, 'key'>, target: object): string | undefined {
    const id = this.vault.seal(JSON.stringify(target), contextOf(session));
    return id.length > MAX_LENGTH ? undefined : id;
  }

  /** @throws DomainError `invalid_rpc_request` for anything but an id of a request in this session */
  open(session: Pick<Session, 'key'>, id: unknown): object {
    try {
      // The envelope is authentic, so it holds what `seal` wrote.
      return JSON.parse(this.vault.open(String(id), contextOf(session))) as object;
    } catch {
      throw new DomainError('invalid_rpc_request', 'The session has no request with this id.');
    }
  }
}

/** The key is random, and known only from a session id that is valid for one principal at one endpoint. */
function contextOf({ key }: Pick<Session, 'key'>): string {
  return `mcp-return:${key}`;
}
