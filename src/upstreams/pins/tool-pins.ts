import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Connection } from '../../connections/connection.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { DomainError } from '../../core/domain-error.js';
import { TimeSlices } from '../../core/time-slices.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { PinState, fingerprintOf } from './pin-state.js';
import { PinnedToolRepository } from './pinned-tool.repository.js';

const MAX_CONNECTIONS = 10_000;
/** The total of all cached states, as they measure it: more than a single one can have. */
const MAX_SIZE = 96 * 1024 * 1024;

const NOTHING_APPROVED = new PinState(Number.MAX_SAFE_INTEGER, false, []);

/** A state that is being read, for an epoch that it has at least. */
interface StateRead {
  readonly epoch: number;
  readonly state: Promise<PinState>;
}

/**
 * Which definitions of the tools of pinned connections are approved. A state is cached for the epoch of its connection,
 * which every process reads within a second: a change that one process has listed applies in all of them.
 */
@Injectable()
export class ToolPins {
  private readonly states = new LRUCache<string, PinState>({
    max: MAX_CONNECTIONS,
    maxSize: MAX_SIZE,
    sizeCalculation: ({ size }) => size,
  });
  /** By connection. */
  private readonly reads = new Map<string, StateRead>();

  constructor(
    private readonly repository: PinnedToolRepository,
    private readonly directory: ConnectionDirectory,
    private readonly changes: ConnectionChanges,
  ) {}

  /** The state of a pinned connection, at least as recent as the connection; a promise only if it has to be read. */
  stateOf({ id, pinEpoch }: Connection): PinState | Promise<PinState> {
    const known = this.states.get(id);
    return known !== undefined && known.epoch >= pinEpoch ? known : this.readState(id, pinEpoch);
  }

  /**
   * Records what is not approved in a list that was just read. Call it before anyone sees or uses the list. Does
   * nothing while the connection is not pinned.
   * @param isComplete true if the list has all tools of the upstream
   */
  async recordList(connection: Connection, tools: readonly UpstreamTool[], isComplete = true): Promise<void> {
    if (connection.pin === 'off') return;
    const pinnable = tools.filter(isPinnable);
    await computeFingerprints(connection.organizationId, pinnable);
    const state = await this.stateOf(connection);
    const unrecorded = pinnable.filter((tool) => state.isUnrecorded(tool));
    if (state.hasBegun && unrecorded.length === 0) return;
    const names = new Set(unrecorded.map(({ name }) => name));
    await this.repository.recordList(connection, pinnable, names, isComplete);
    this.announce(connection);
  }

  /** Approves these definitions. @throws DomainError `conflict` unless the connection is pinned */
  async approve(connection: Connection, tools: readonly UpstreamTool[]): Promise<void> {
    if (!(await this.repository.approve(connection, tools)))
      throw new DomainError('conflict', 'The pin of the connection is off, so there is nothing to approve.');
    this.announce(connection);
  }

  /**
   * Checks a call once more after everything that it had to wait for.
   * @throws DomainError `tool_unapproved` if another definition of the tool was listed, in any process
   */
  async requireApproved({ id, pin }: Connection, toolName: string): Promise<void> {
    if (pin !== 'block') return;
    const connection = await this.directory.findAnywhere(id);
    if (connection?.pin !== 'block') return;
    const state = await this.stateOf(connection);
    if (!state.withholds(toolName)) return;
    const message = 'The definition of this tool has changed or is new, and nobody has approved it yet.';
    throw new DomainError('tool_unapproved', message);
  }

  /** However many callers wait for a state, one query reads it. */
  private readState(id: string, epoch: number): Promise<PinState> {
    const current = this.reads.get(id);
    if (current !== undefined && current.epoch >= epoch) return current.state;
    const read: StateRead = {
      epoch,
      state: this.repository
        .findState(id)
        .then((found) => {
          // What was recorded in the meantime may be missing.
          if (found !== undefined && this.reads.get(id) === read) this.states.set(id, found);
          return found ?? NOTHING_APPROVED;
        })
        .finally(() => {
          if (this.reads.get(id) === read) this.reads.delete(id);
        }),
    };
    this.reads.set(id, read);
    return read.state;
  }

  private announce({ id }: Connection): void {
    this.states.delete(id);
    this.reads.delete(id);
    this.changes.changed(id);
  }
}

/** Fingerprints are kept by definition, so that later uses find them. */
export async function computeFingerprints(organizationId: string, tools: readonly UpstreamTool[]): Promise<void> {
  const slices = new TimeSlices(organizationId);
  for (const tool of tools) {
    fingerprintOf(tool);
    if (slices.isOver) await slices.next();
  }
}

const MAX_NAME_BYTES = 1024;

/**
 * False for a tool whose name takes more than 1 KiB as JSON text: every process keeps the names of recorded tools. A
 * pinned connection neither records nor offers such a tool.
 */
export function isPinnable({ name }: UpstreamTool): boolean {
  return Buffer.byteLength(JSON.stringify(name)) <= MAX_NAME_BYTES;
}
