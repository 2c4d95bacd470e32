import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../agents/composition/agent-composition.service.js';
import type { ProxyCaller } from '../proxy-caller.js';
import { toolListText } from './gateway-tool-list.js';

/** What other processes change is found out by looking; it also keeps the lists fresh while nobody calls. */
const LOOK_EVERY_MS = 15_000;
/** Many changes at once are one. */
const GATHER_MS = 100;

/** The list that a caller was last told of. */
interface Seen {
  readonly digest: string;
  readonly memberIds: ReadonlySet<string>;
}

/** Notices when the tools of an agent change, as far as one caller sees them. */
@Injectable()
export class ListChanges {
  constructor(private readonly compositions: AgentComposition) {}

  /** Yields with every change, until the signal is aborted. */
  async *of(caller: ProxyCaller, signal: AbortSignal): AsyncGenerator<void> {
    let seen: Seen | undefined;
    while (!signal.aborted) {
      const present = await this.look(caller);
      if (seen !== undefined && present !== undefined && present.digest !== seen.digest) yield;
      seen = present ?? seen;
      await this.nextChange(seen?.memberIds, signal);
    }
  }

  /** Undefined while it cannot be told. */
  private async look(caller: ProxyCaller): Promise<Seen | undefined> {
    try {
      const composition = await this.compositions.of(caller.connection);
      return { digest: hash('sha256', toolListText(caller, composition)), memberIds: composition.memberIds };
    } catch {
      return undefined;
    }
  }

  private async nextChange(memberIds: ReadonlySet<string> | undefined, signal: AbortSignal): Promise<void> {
    const changed = new AbortController();
    const stop = this.compositions.onChange((id) => {
      if (memberIds?.has(id) === true) changed.abort();
    });
    const woken = AbortSignal.any([signal, changed.signal]);
    await sleep(LOOK_EVERY_MS, undefined, { signal: woken }).catch(() => undefined);
    stop();
    if (!signal.aborted) await sleep(GATHER_MS);
  }
}
