import { Injectable } from '@nestjs/common';
import { quotaHolderOf } from '../../core/principal.js';
import type { OutgoingMessage, UpstreamChannel } from '../messages/upstream-channel.js';
import type { SessionCaller } from '../contract/callers.js';
import { UpstreamError } from '../contract/upstream-error.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { StdioChannel } from './stdio-channel.js';
import type { ProgramHolder } from './program-slots.js';
import { plainAnswer } from './stdio-exchange.js';
import { StdioProcesses } from './stdio-processes.js';

/** A session of a caller with a program. */
interface StdioSession {
  /** Identifies it among all sessions. */
  readonly key: string;
  /** Whose quota it counts towards; absent for a caller without a credential. */
  readonly caller?: SessionCaller | undefined;
  /** The caller's `initialize` request; undefined if it is about to be sent. */
  readonly initialize?: OutgoingMessage | undefined;
}

/** Calls `end` when a session has to end; returns a function that stops watching. */
type WatchSession = (target: StdioTarget, caller: SessionCaller | undefined, end: () => void) => () => void;

interface Session {
  readonly revision: string;
  readonly channel: Promise<StdioChannel>;
}

/** The running programs that belong to one MCP session each, by session key. */
@Injectable()
export class StdioSessions {
  private readonly sessions = new Map<string, Session>();
  private readonly watches: WatchSession[] = [];

  constructor(private readonly processes: StdioProcesses) {}

  /** Registers a watch that can end each session opened from now on. */
  endWith(watch: WatchSession): void {
    this.watches.push(watch);
  }

  /**
   * The channel of a session. It starts the program when it is needed and not running. A program that has ended (idle,
   * failed, in another process, or because the connection was edited) is restarted and initialized as the session was;
   * any other state of the session is lost. An answer to a request of the program is the exception: no restarted
   * program has sent that request, and in another process the program would wait for the answer until its time limit.
   * It rejects with `session_lost`.
   */
  channel({ key, caller, initialize }: StdioSession, target: StdioTarget): UpstreamChannel {
    const { organizationId, connectionId } = target;
    // A session without a caller counts as its own caller.
    const holder = {
      organizationId,
      connectionId,
      callerId: caller?.callerId ?? key,
      quotaHolder: caller && quotaHolderOf(caller),
    };
    const run = (): Promise<StdioChannel> => this.run({ key, caller, initialize }, target, holder);
    return {
      postMessage: async (message, options) => {
        if (isAnswer(message) && this.sessions.get(key)?.revision !== target.revision) throw notHere();
        return (await run()).postMessage(message, options);
      },
      listen: async (options) => (await run()).listen(options),
      end: async () => {
        const session = this.sessions.get(key);
        if (session !== undefined) await end(session);
        return plainAnswer(200);
      },
    };
  }

  private run(requested: StdioSession, target: StdioTarget, holder: ProgramHolder): Promise<StdioChannel> {
    const { key, caller, initialize } = requested;
    const existing = this.sessions.get(key);
    if (existing?.revision === target.revision) return existing.channel;
    if (existing !== undefined) void end(existing);
    const session: Session = {
      revision: target.revision,
      channel: this.open(target, holder, initialize, () => forget()),
    };
    const unwatch = this.watches.map((watch) => watch(target, caller, () => void end(session)));
    const forget = (): void => {
      for (const stop of unwatch) stop();
      if (this.sessions.get(key) === session) this.sessions.delete(key);
    };
    this.sessions.set(key, session);
    session.channel.catch(forget);
    return session.channel;
  }

  private async open(
    target: StdioTarget,
    holder: ProgramHolder,
    initialize: OutgoingMessage | undefined,
    onEnded: () => void,
  ): Promise<StdioChannel> {
    const channel = await StdioChannel.open(this.processes, target, holder, onEnded);
    if (initialize === undefined) return channel;
    try {
      await channel.replay(initialize);
      return channel;
    } catch (error) {
      await channel.end();
      throw error;
    }
  }
}

/** True if the caller answers a request of the program. */
function isAnswer({ id, method }: OutgoingMessage): boolean {
  return id === undefined && method === undefined;
}

function notHere(): UpstreamError {
  return new UpstreamError('session_lost', 'The program that sent this request does not run in this process.');
}

async function end({ channel }: Session): Promise<void> {
  const opened = await channel.catch(() => undefined);
  await opened?.end();
}
