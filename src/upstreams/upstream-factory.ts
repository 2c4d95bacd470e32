import { Injectable } from '@nestjs/common';
import { GuardedDispatcher } from '../net/guarded-dispatcher.js';
import { HttpUpstream } from './http-upstream.js';
import { StdioProcesses } from './stdio/stdio-processes.js';
import { StdioUpstream } from './stdio/stdio-upstream.js';
import type { Upstream } from './upstream.js';
import type { UpstreamTarget } from './upstream-target.js';

/** Makes the MCP client of a target, whatever its kind. Whoever asks for one closes it. */
@Injectable()
export class UpstreamFactory {
  constructor(
    private readonly dispatcher: GuardedDispatcher,
    private readonly processes: StdioProcesses,
  ) {}

  create(target: UpstreamTarget): Upstream {
    return target.kind === 'stdio'
      ? new StdioUpstream(target, this.processes)
      : new HttpUpstream(target, this.dispatcher);
  }
}
