import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import { credentialMissing, type ProxyCaller, type CallerFilter } from '../../protocol/proxy-caller.js';
import { taskIdOf, deniedTask, unknownTask } from './task-messages.js';
import { type TaskHolder, TaskOwnerRepository } from './task-owner.repository.js';

const LIST = 'tasks/list';
/** How many callers' tasks a process caches. */
const MAX_CACHED = 200;
/** After this time a process reads what other processes have added. */
const FRESH_MS = 2_000;

interface CachedTasks {
  /** The tools of the caller's tasks, by task digest. */
  tools: Map<string, string>;
  /** When they were read, in milliseconds since the epoch. */
  at: number;
  reading: Promise<void> | undefined;
}

/**
 * The owners of MCP servers' tasks of the legacy era (MCP 2025-11-25), whose ids callers see. Many servers tie a task
 * to the credential that all callers of a connection share. A caller is therefore limited to tasks that it created,
 * with tools that it is still permitted to call. A caller without a credential has no tasks.
 */
@Injectable()
export class TaskOwners {
  /** By caller and connection. */
  private readonly known = new LRUCache<string, CachedTasks>({ max: MAX_CACHED });

  constructor(
    private readonly repository: TaskOwnerRepository,
    private readonly catalog: ToolCatalog,
  ) {}

  /** Stores the task that the upstream created for the caller's tool call. */
  async rememberTask(caller: ProxyCaller, tool: string, taskId: string): Promise<void> {
    const holder = holderOf(caller);
    if (holder === undefined) return;
    await this.repository.insertOwner(holder, digestOf(taskId), tool);
    this.entryOf(holder).tools.set(digestOf(taskId), tool);
  }

  /**
   * Checks whether the caller is permitted to send this `tasks/…` request. `owns` filters the answer to `tasks/list`.
   * @throws DomainError `credential_missing`, `invalid_arguments`, `permission_denied`
   */
  async requireOwnTask(caller: ProxyCaller, { method, params }: InboundRequest): Promise<void> {
    const holder = holderOf(caller);
    if (holder === undefined) throw credentialMissing();
    const entry = this.entryOf(holder);
    // Public tools need no grant, and only the tool list tells which tools are public.
    await Promise.all([
      this.read(holder, entry),
      Promise.resolve(this.catalog.toolsOf(caller.connection)).catch(() => undefined),
    ]);
    if (method === LIST) return;
    const tool = await this.toolOf(holder, entry, taskIdOf(params));
    if (tool === undefined) throw unknownTask();
    if (!this.mayCall(caller, tool)) throw deniedTask();
  }

  /**
   * The filter on what the caller sees of an upstream's messages; undefined for a caller with `*`, whose messages pass
   * unread.
   */
  filterFor(caller: ProxyCaller): CallerFilter | undefined {
    return caller.holdsAll ? undefined : this.ownFilterFor(caller);
  }

  /** The same filter for any caller. */
  ownFilterFor(caller: ProxyCaller): CallerFilter {
    return { shows: (tool) => caller.sees(tool), ownsTask: (taskId) => this.ownsTask(caller, taskId) };
  }

  private async toolOf(
    holder: TaskHolder,
    entry: CachedTasks,
    taskId: string | undefined,
  ): Promise<string | undefined> {
    if (taskId === undefined) return undefined;
    const digest = digestOf(taskId);
    // The read that was awaited may have started before the task was stored.
    if (!entry.tools.has(digest)) await this.read(holder, entry);
    return entry.tools.get(digest);
  }

  /** True if the caller owns this task. Answers from the cache and refreshes it in the background. */
  private ownsTask(caller: ProxyCaller, taskId: string): boolean {
    const holder = holderOf(caller);
    if (holder === undefined) return false;
    const entry = this.entryOf(holder);
    if (Date.now() - entry.at > FRESH_MS) this.read(holder, entry).catch(() => undefined);
    const tool = entry.tools.get(digestOf(taskId));
    return tool !== undefined && this.mayCall(caller, tool);
  }

  private mayCall(caller: ProxyCaller, tool: string): boolean {
    if (caller.mayCall(tool)) return true;
    const list = this.catalog.toolsOf(caller.connection);
    if (!(list instanceof Promise))
      return caller.connection.publicTools === 'honor' && list.tools.get(tool)?.isPublic === true;
    list.catch(() => undefined);
    return false;
  }

  private read(holder: TaskHolder, entry: CachedTasks): Promise<void> {
    entry.reading ??= this.readInto(holder, entry);
    return entry.reading;
  }

  private async readInto(holder: TaskHolder, entry: CachedTasks): Promise<void> {
    try {
      entry.tools = await this.repository.findAll(holder);
    } finally {
      entry.at = Date.now();
      entry.reading = undefined;
    }
  }

  private entryOf(holder: TaskHolder): CachedTasks {
    const key = `${holder.connectionId} ${holder.owner}`;
    const entry = this.known.get(key) ?? { tools: new Map<string, string>(), at: 0, reading: undefined };
    this.known.set(key, entry);
    return entry;
  }
}

function holderOf({ principal, connection }: ProxyCaller): TaskHolder | undefined {
  if (principal === undefined) return undefined;
  return { connectionId: connection.id, owner: principal.callerId };
}

function digestOf(taskId: string): string {
  return hash('sha256', taskId);
}
