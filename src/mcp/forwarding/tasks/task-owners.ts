import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../common/domain-error.js';
import { ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { credentialMissing, type ProxyCaller } from '../../protocol/proxy-caller.js';
import { taskIdOf } from './task-messages.js';
import { type TaskHolder, TaskOwnerRepository } from './task-owner.repository.js';

const LIST = 'tasks/list';
/** How many callers' tasks a process remembers, and for how long before it looks what other processes have added, in milliseconds. */
const MAX_REMEMBERED = 200;
const BELIEVED_MS = 2_000;

interface Known {
  /** The tools of the caller's tasks, by the digests of the tasks. */
  tools: Map<string, string>;
  /** When they were read, in milliseconds since the epoch. */
  at: number;
  reading: Promise<void> | undefined;
}

/**
 * Whose the tasks of MCP servers are. Many servers tie a task to the credential that all callers of a connection share, so who
 * does not hold `*` may only use tasks that they made themselves, with tools that they may still call. A caller without a
 * credential has none.
 */
@Injectable()
export class TaskOwners {
  /** By caller and connection. */
  private readonly known = new LRUCache<string, Known>({ max: MAX_REMEMBERED });

  constructor(
    private readonly repository: TaskOwnerRepository,
    private readonly catalog: ToolCatalog,
  ) {}

  /** The caller's call of the tool was answered with a task. */
  async remember(caller: ProxyCaller, tool: string, taskId: string): Promise<void> {
    const holder = holderOf(caller);
    if (holder === undefined) return;
    await this.repository.add(holder, digestOf(taskId), tool);
    this.entryOf(holder).tools.set(digestOf(taskId), tool);
  }

  /**
   * May the caller send this `tasks/…` request? What the answer to `tasks/list` may hold is for `owns` to say.
   * @throws DomainError `credential_missing`, `invalid_arguments`, `permission_denied`
   */
  async admit(caller: ProxyCaller, { method, params }: InboundRequest): Promise<void> {
    const holder = holderOf(caller);
    if (holder === undefined) throw credentialMissing();
    const entry = this.entryOf(holder);
    // Public tools need no grant; without the list of tools no tool is public.
    await Promise.all([
      this.read(holder, entry),
      Promise.resolve(this.catalog.of(caller.connection)).catch(() => undefined),
    ]);
    if (method === LIST) return;
    const tool = await this.toolOf(holder, entry, taskIdOf(params));
    // With 404 a client would take its session for lost.
    if (tool === undefined) throw new DomainError('invalid_arguments', 'The caller has no task of this id.');
    if (this.mayCall(caller, tool)) return;
    throw new DomainError('permission_denied', 'The caller may not call the tool that the task belongs to.');
  }

  /** Is this task, which an upstream speaks of, one of the caller's, as far as this process knows by now? */
  owns(caller: ProxyCaller, taskId: string): boolean {
    const holder = holderOf(caller);
    if (holder === undefined) return false;
    const entry = this.entryOf(holder);
    if (Date.now() - entry.at > BELIEVED_MS) this.read(holder, entry).catch(() => undefined);
    const tool = entry.tools.get(digestOf(taskId));
    return tool !== undefined && this.mayCall(caller, tool);
  }

  private async toolOf(holder: TaskHolder, entry: Known, taskId: string | undefined): Promise<string | undefined> {
    if (taskId === undefined) return undefined;
    const digest = digestOf(taskId);
    // The reading that was waited for may have begun before the task was stored.
    if (!entry.tools.has(digest)) await this.read(holder, entry);
    return entry.tools.get(digest);
  }

  private mayCall(caller: ProxyCaller, tool: string): boolean {
    if (caller.mayCall(tool)) return true;
    const list = this.catalog.of(caller.connection);
    if (!(list instanceof Promise))
      return caller.connection.publicTools === 'honor' && list.tools.get(tool)?.isPublic === true;
    list.catch(() => undefined);
    return false;
  }

  private read(holder: TaskHolder, entry: Known): Promise<void> {
    entry.reading ??= this.readInto(holder, entry);
    return entry.reading;
  }

  private async readInto(holder: TaskHolder, entry: Known): Promise<void> {
    try {
      entry.tools = await this.repository.findAll(holder);
    } finally {
      entry.at = Date.now();
      entry.reading = undefined;
    }
  }

  private entryOf(holder: TaskHolder): Known {
    const key = `${holder.connectionId} ${holder.owner}`;
    const entry = this.known.get(key) ?? { tools: new Map<string, string>(), at: 0, reading: undefined };
    this.known.set(key, entry);
    return entry;
  }
}

function holderOf({ principal, connection }: ProxyCaller): TaskHolder | undefined {
  if (principal === undefined) return undefined;
  return { connectionId: connection.id, owner: `${principal.kind}:${principal.userId}:${principal.apiKeyId}` };
}

function digestOf(taskId: string): string {
  return hash('sha256', taskId);
}
