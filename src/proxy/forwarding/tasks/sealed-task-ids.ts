import { Injectable } from '@nestjs/common';
import { VaultService } from '../../../platform/vault/vault.service.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { unknownTask } from './task-messages.js';

/** Where to send requests about a task. */
interface TaskPlace {
  readonly connectionId: string;
  /** The upstream's name of the tool that created it. */
  readonly tool: string;
  /** The upstream's id of the task. */
  readonly taskId: string;
}

/** Longer ids of upstreams do not fit into the `Mcp-Name` header when they are sealed. */
const MAX_UPSTREAM_ID_LENGTH = 1024;
/** The service does not issue longer ids. */
const MAX_LENGTH = 8 * 1024;

/**
 * Turns tasks of upstreams into the ids that callers see, and back. An id is the encrypted place of the task, so any
 * process can route requests about it, and the service stores nothing. It is valid only for the principal who created
 * the task, at the endpoint where it was created.
 */
@Injectable()
export class SealedTaskIds {
  constructor(private readonly vault: VaultService) {}

  /** @throws UpstreamError if the upstream's own id is too long */
  seal(caller: ProxyCaller, place: TaskPlace): string {
    if (place.taskId.length > MAX_UPSTREAM_ID_LENGTH) {
      throw new UpstreamError('protocol', 'The upstream answered with a task id that is too long.');
    }
    return this.vault.seal(JSON.stringify(place), contextOf(caller));
  }

  /** @throws DomainError `invalid_arguments` for anything but an id that this caller got here */
  open(caller: ProxyCaller, id: unknown): TaskPlace {
    const place = this.find(caller, id);
    if (place === undefined) throw unknownTask();
    return place;
  }

  /** Undefined for anything but an id that this caller got here. */
  find(caller: ProxyCaller, id: unknown): TaskPlace | undefined {
    if (typeof id !== 'string' || id.length > MAX_LENGTH) return undefined;
    try {
      // The envelope is authentic, so it holds what `seal` wrote.
      return JSON.parse(this.vault.open(id, contextOf(caller))) as TaskPlace;
    } catch {
      return undefined;
    }
  }
}

function contextOf({ connection: { id, organizationId }, principal }: ProxyCaller): string {
  return `mcp-task:${organizationId}:${id}:${principal?.callerId ?? 'anonymous'}`;
}
