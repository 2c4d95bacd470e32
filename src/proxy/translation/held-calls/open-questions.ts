import { hash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type Claim, half, type Holder, Shares } from '../../../core/sharing/shares.js';
import { OpenConnections } from '../../../connections/open-connections.js';
import { OpenCredentials } from '../../../identity/credentials/open-credentials.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import { WaitingPlaces } from '../../forwarding/asked-clients/open-requests.js';
import { invalidState, STATE_AGE_MS } from '../../forwarding/session/request-states.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import type { HeldCall } from './held-call.js';

/** How long and how much is kept for clients that repeat a request whose answer was lost. In UTF-16 code units. */
const KEPT_MS = 60_000;
const MAX_KEPT_SIZE = 16 * 1024 * 1024;
const MAX_KEPT_ANSWER = 64 * 1024;
/** What an answered question takes without its answer. */
const ENTRY_SIZE = 1024;

/** Who is asked, by the upstream of which connection. */
type AskedCaller = Pick<ProxyCaller, 'connection' | 'principal' | 'key'>;

/** A call that waits for its client. */
interface OpenQuestion {
  readonly call: HeldCall;
  readonly holder: Holder;
  /** Ends the wait. */
  readonly close: () => void;
}

/** What came of answers of a client. */
interface Answered {
  /** Of the client's answers. */
  readonly digest: string;
  readonly claim: Claim;
  /** Sealed; undefined until there is one, and if it is too large. */
  readonly answer?: string;
}

/**
 * The calls of this process that wait until their clients repeat their requests, for ten minutes at most, and no longer
 * than the credential of the caller and the connection exist as they are. Each question is answered once; the same
 * answers get the same result again for a minute.
 */
@Injectable()
export class OpenQuestions implements BeforeApplicationShutdown {
  private readonly open = new Map<string, OpenQuestion>();
  /** So that no caller's answers take the place of another's. */
  private readonly kept = new Shares(MAX_KEPT_SIZE, [half, half]);
  private readonly answered = new LRUCache<string, Answered>({
    ttl: KEPT_MS,
    ttlAutopurge: true,
    ttlResolution: 0,
    perf: { now: () => performance.now() },
    dispose: ({ claim }) => this.kept.giveBack(claim),
  });

  constructor(
    private readonly vault: VaultService,
    private readonly places: WaitingPlaces,
    private readonly connections: OpenConnections,
    private readonly credentials: OpenCredentials,
  ) {}

  /**
   * Holds the call until it is answered or has waited for too long.
   * @param id of the question
   * @throws UpstreamError `busy`
   */
  hold(id: string, call: HeldCall, { connection, principal, key }: AskedCaller, size: number): void {
    const holder = [connection.organizationId, key];
    const leave = this.places.enter(holder, size);
    const giveUp = (): void => this.release(id)?.call.cancel();
    const timer = setTimeout(giveUp, STATE_AGE_MS).unref();
    // Nothing is sent to what the connection was before.
    const unwatch = this.connections.watchConnection(connection, giveUp);
    const forget = principal && this.credentials.watchValidity(principal, giveUp);
    const close = (): void => {
      clearTimeout(timer);
      unwatch();
      forget?.();
      leave();
    };
    this.open.set(id, { call, holder, close });
  }

  /**
   * Returns the call that the question is of, or the answer that the same answers got.
   * @param responses of the client
   * @throws DomainError `invalid_rpc_request` if the question was answered in another way, or is not open any more
   */
  answer(id: string, responses: unknown): HeldCall | string {
    const digest = hash('sha256', JSON.stringify(responses ?? {}));
    const question = this.release(id);
    if (question !== undefined) {
      const claim = { holder: question.holder, units: ENTRY_SIZE };
      if (this.kept.tryTake(claim)) this.answered.set(id, { digest, claim });
      return question.call;
    }
    const known = this.answered.get(id);
    if (known?.answer === undefined || known.digest !== digest) throw invalidState();
    return this.vault.open(known.answer, contextOf(id));
  }

  /** Keeps what the answers got, for a request that repeats them, as far as the caller's share has room. */
  keep(id: string, text: string): void {
    const known = this.answered.get(id);
    if (known === undefined || text.length > MAX_KEPT_ANSWER) return;
    const answer = this.vault.seal(text, contextOf(id));
    const claim = { ...known.claim, units: ENTRY_SIZE + answer.length };
    if (this.kept.tryTake(claim)) this.answered.set(id, { ...known, claim, answer });
  }

  beforeApplicationShutdown(): void {
    for (const id of this.open.keys()) this.release(id)?.call.cancel();
  }

  private release(id: string): OpenQuestion | undefined {
    const question = this.open.get(id);
    this.open.delete(id);
    question?.close();
    return question;
  }
}

function contextOf(id: string): string {
  return `mcp-input-answer:${id}`;
}
