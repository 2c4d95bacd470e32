import { Injectable } from '@nestjs/common';
import { GuardedDispatcher } from '../net/guarded-dispatcher.js';
import { HttpUpstream } from './http-upstream.js';
import type { OnListChanged } from './list-change.js';
import { ListeningSlots } from './listening/listening-slots.js';
import { StdioProcesses } from './stdio/stdio-processes.js';
import { StdioUpstream } from './stdio/stdio-upstream.js';
import type { Upstream } from './upstream.js';
import type { UpstreamTarget } from './upstream-target.js';

/** Makes the MCP client of a target, whatever its kind. Whoever asks for one closes it. */
@Injectable()
export class UpstreamFactory {
  private readonly slots = new ListeningSlots();

  constructor(
    private readonly dispatcher: GuardedDispatcher,
    private readonly processes: StdioProcesses,
  ) {}

  /** @param onChanged wants to hear of changed lists for as long as the client lives; without it, nobody listens */
  create(target: UpstreamTarget, onChanged?: OnListChanged): Upstream {
    if (target.kind === 'stdio') return new StdioUpstream(target, this.processes, onChanged);
    return new HttpUpstream(target, this.dispatcher, onChanged && { slots: this.slots, onChanged });
  }
}
