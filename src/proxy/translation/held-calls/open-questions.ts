import { hash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Holder } from '../../../core/sharing/shares.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import { WaitingPlaces } from '../../forwarding/asked-clients/waiting-places.js';
import { invalidState, STATE_AGE_MS } from '../../forwarding/session/request-states.js';
import type { HeldCall } from './held-call.js';

/** How long and how many answers are kept for clients that repeat a request whose answer was lost. */
const KEPT_MS = 60_000;
const MAX_KEPT = 10_000;
const MAX_KEPT_SIZE = 16 * 1024 * 1024;
const MAX_KEPT_ANSWER = 64 * 1024;

/** A call that waits for its client. */
interface OpenQuestion {
  readonly call: HeldCall;
  readonly leave: () => void;
  readonly timer: NodeJS.Timeout;
}

/** What came of answers of a client. */
interface Answered {
  /** Of the client's answers. */
  readonly digest: string;
  /** Sealed; undefined until there is one, and if it is too large. */
  readonly answer?: string;
}

/**
 * The calls of this process that wait until their clients repeat their requests, for ten minutes at most. Each question
 * is answered once; the same answers get the same result again for a minute.
 */
@Injectable()
export class OpenQuestions implements BeforeApplicationShutdown {
  private readonly open = new Map<string, OpenQuestion>();
  private readonly answered = new LRUCache<string, Answered>({
    max: MAX_KEPT,
    maxSize: MAX_KEPT_SIZE,
    sizeCalculation: ({ answer }) => 1 + (answer?.length ?? 0),
    ttl: KEPT_MS,
    ttlResolution: 0,
    perf: { now: () => performance.now() },
  });

  constructor(
    private readonly vault: VaultService,
    private readonly places: WaitingPlaces,
  ) {}

  /**
   * Holds the call until it is answered or has waited for too long.
   * @param id of the question
   * @throws UpstreamError `busy`
   */
  hold(id: string, call: HeldCall, holder: Holder, size: number): void {
    const leave = this.places.enter(holder, size);
    const timer = setTimeout(() => this.release(id)?.cancel(), STATE_AGE_MS).unref();
    this.open.set(id, { call, leave, timer });
  }

  /**
   * Returns the call that the question is of, or the answer that the same answers got.
   * @param responses of the client
   * @throws DomainError `invalid_rpc_request` if the question was answered in another way, or is not open any more
   */
  answer(id: string, responses: unknown): HeldCall | string {
    const digest = hash('sha256', JSON.stringify(responses ?? {}));
    const call = this.release(id);
    if (call !== undefined) {
      this.answered.set(id, { digest });
      return call;
    }
    const known = this.answered.get(id);
    if (known?.answer === undefined || known.digest !== digest) throw invalidState();
    return this.vault.open(known.answer, contextOf(id));
  }

  /** Keeps what the answers got, for a request that repeats them. */
  keep(id: string, text: string): void {
    const known = this.answered.get(id);
    if (known === undefined || text.length > MAX_KEPT_ANSWER) return;
    this.answered.set(id, { ...known, answer: this.vault.seal(text, contextOf(id)) });
  }

  beforeApplicationShutdown(): void {
    for (const id of this.open.keys()) this.release(id)?.cancel();
  }

  private release(id: string): HeldCall | undefined {
    const question = this.open.get(id);
    if (question === undefined) return undefined;
    this.open.delete(id);
    clearTimeout(question.timer);
    question.leave();
    return question.call;
  }
}

function contextOf(id: string): string {
  return `mcp-input-answer:${id}`;
}
