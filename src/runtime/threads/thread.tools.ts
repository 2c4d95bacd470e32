import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { CREATES, DESTROYS, ManagementTool, READ_ONLY, UPDATES } from '../../core/tools/management-tool.js';
import { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { requireOwnThread } from '../../core/thread-access.js';
import { FileLinks } from '../files/file-links.js';
import {
  MessagePage,
  ThreadCopyInput,
  ThreadCreateInput,
  ThreadIdInput,
  ThreadMessagesInput,
  ThreadOutput,
  ThreadPage,
  ThreadUpdateInput,
} from './thread.dto.js';
import { ThreadCopying } from './thread-copying.js';
import { ThreadService } from './thread.service.js';
import { ThreadStats, ThreadStatsInput } from './thread-stats.dto.js';
import { ThreadStatsService } from './thread-stats.service.js';
import { TranscriptService } from './transcript.service.js';

@Injectable()
export class ThreadTools {
  constructor(
    private readonly threads: ThreadService,
    private readonly transcript: TranscriptService,
    private readonly copying: ThreadCopying,
    private readonly links: FileLinks,
    private readonly counts: ThreadStatsService,
  ) {}

  @ManagementTool({
    name: 'COLLECTION_THREADS_CREATE',
    description: 'Creates a thread for an agent. If a thread with the given id and agent exists, returns that thread.',
    input: ThreadCreateInput,
    output: ThreadOutput,
    annotations: CREATES,
  })
  async create(input: ThreadCreateInput, caller: Principal): Promise<ThreadOutput> {
    return { item: await this.threads.create(input.data, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_THREADS_LIST',
    description: "Lists the organization's threads, newest first by default.",
    input: ListInput,
    output: ThreadPage,
    annotations: READ_ONLY,
  })
  list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<ThreadPage> {
    return this.threads.list(input, caller, answer);
  }

  @ManagementTool({
    name: 'THREAD_STATS',
    description:
      "Counts the organization's threads by status: in total, over time, and those with failed runs by the code of the " +
      'error. Threads belong to the time when they were created. Covers the last 24 hours unless from and to are set.',
    input: ThreadStatsInput,
    output: ThreadStats,
    annotations: READ_ONLY,
  })
  stats(input: ThreadStatsInput, caller: Principal, answer: HeldAnswer): Promise<ThreadStats> {
    return this.counts.stats(input, caller, answer);
  }

  @ManagementTool({
    name: 'COLLECTION_THREADS_GET',
    description: 'Reads a thread. Poll it to follow the status from in_progress to completed or failed.',
    input: ThreadIdInput,
    output: ThreadOutput,
    annotations: READ_ONLY,
  })
  async get(input: ThreadIdInput, caller: Principal): Promise<ThreadOutput> {
    requireOwnThread(caller, input.id);
    return { item: await this.threads.get(input.id, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_THREADS_UPDATE',
    description: 'Renames a thread, or replaces its metadata.',
    input: ThreadUpdateInput,
    output: ThreadOutput,
    annotations: UPDATES,
  })
  async update(input: ThreadUpdateInput, caller: Principal): Promise<ThreadOutput> {
    return { item: await this.threads.update(input.id, input.data, caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_THREADS_DELETE',
    description: 'Deletes a thread, its transcript and its runs. Fails while a run is in progress.',
    input: ThreadIdInput,
    output: ThreadOutput,
    annotations: DESTROYS,
  })
  async delete(input: ThreadIdInput, caller: Principal): Promise<ThreadOutput> {
    return { item: await this.threads.delete(input.id, caller) };
  }

  @ManagementTool({
    name: 'THREAD_COPY',
    description:
      'Copies a thread of the same agent: its title, its metadata and its finished messages, up to and with ' +
      'until_message_id, under new ids. Superseded messages are left out.',
    input: ThreadCopyInput,
    output: ThreadOutput,
    annotations: CREATES,
  })
  async copy(input: ThreadCopyInput, caller: Principal): Promise<ThreadOutput> {
    return { item: await this.threads.get(await this.copying.copy(input, caller), caller) };
  }

  @ManagementTool({
    name: 'COLLECTION_THREAD_MESSAGES_LIST',
    description:
      'Reads the durable transcript of a thread. An answer in progress is included with its parts so far. The urls of ' +
      'file parts open the files without a credential for 15 minutes.',
    input: ThreadMessagesInput,
    output: MessagePage,
    annotations: READ_ONLY,
  })
  async messages(input: ThreadMessagesInput, caller: Principal, answer: HeldAnswer): Promise<MessagePage> {
    requireOwnThread(caller, input.thread_id);
    await this.threads.findThread(caller.organization.id, input.thread_id);
    const { id, slug } = caller.organization;
    const page = await this.transcript.list(id, input, answer);
    const items = page.items.map((item) => ({ ...item, parts: this.links.signParts(slug, item.parts) }));
    return { ...page, items };
  }
}
