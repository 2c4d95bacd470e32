import { Injectable } from '@nestjs/common';
import { HttpUpstream } from '../http/http-upstream.js';
import type { OnListChanged } from '../contract/list-change.js';
import type { StateOwner } from '../contract/callers.js';
import { LegacyPrograms, StdioUpstream } from '../stdio/stdio-upstream.js';
import { StdioProcesses } from '../stdio/stdio-processes.js';
import { UpstreamSockets } from '../sockets/upstream-sockets.js';
import { TransportUpstream } from '../session/transport-upstream.js';
import type { Upstream } from '../contract/upstream.js';
import type { UpstreamTarget } from '../contract/upstream-target.js';

/** Creates the MCP client of a target of any kind. The caller closes it. */
@Injectable()
export class UpstreamFactory {
  private readonly legacyPrograms = new LegacyPrograms();

  constructor(
    private readonly sockets: UpstreamSockets,
    private readonly processes: StdioProcesses,
  ) {}

  /**
   * @param onChanged called when a list changes; without it, the client does not listen
   * @param owner whose state it holds. Only the shared client of an HTTP upstream keeps a stream open for changes of
   *   its lists, and only the client of an owner that answers requests one for these.
   */
  create(target: UpstreamTarget, onChanged?: OnListChanged, owner?: StateOwner): Upstream {
    if (target.kind === 'stdio') {
      return new StdioUpstream(target, this.processes, onChanged, owner, this.legacyPrograms);
    }
    if (target.kind === 'custom') return new TransportUpstream(target, onChanged, owner);
    return new HttpUpstream(target, this.sockets, onChanged, owner);
  }
}
