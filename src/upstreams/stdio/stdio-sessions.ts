import { Injectable } from '@nestjs/common';
import type { OutgoingMessage, UpstreamChannel } from '../messages/upstream-channel.js';
import type { StdioTarget } from '../contract/upstream-target.js';
import { StdioChannel } from './stdio-channel.js';
import type { ProgramHolder } from './program-slots.js';
import { plainAnswer } from './stdio-exchange.js';
import { StdioProcesses } from './stdio-processes.js';

/** A session of a caller with a program. */
export interface StdioSession {
  /** Names it among all sessions. */
  readonly key: string;
  /** Whose quota it counts for: the caller's API key. */
  readonly callerId?: string | undefined;
  /** The caller's `initialize` request; undefined when it is about to be sent. */
  readonly initialize?: OutgoingMessage | undefined;
}

/** Tells when a session has to end, whoever uses it; returns how to stop that. */
export type WatchSession = (target: StdioTarget, callerId: string | undefined, end: () => void) => () => void;

interface Session {
  readonly revision: string;
  readonly channel: Promise<StdioChannel>;
}

/** The runs of programs that belong to one MCP session each, by the session's key, as long as they run. */
@Injectable()
export class StdioSessions {
  private readonly sessions = new Map<string, Session>();
  private readonly watches: WatchSession[] = [];

  constructor(private readonly processes: StdioProcesses) {}

  /** Ends each session that is opened from now on when `watch` says so. */
  endWith(watch: WatchSession): void {
    this.watches.push(watch);
  }

  /**
   * The channel of a session. What it needs a run for starts one, if none is there: one that has ended (idle, failed, in
   * another process, or of a connection edited since) is followed by a new one that is initialized as the session was;
   * what else the session had told it is lost.
   */
  channel({ key, callerId, initialize }: StdioSession, target: StdioTarget): UpstreamChannel {
    const { organizationId, connectionId } = target;
    // A session without a caller counts as one of its own.
    const holder = { organizationId, connectionId, callerId: callerId ?? key };
    const run = (): Promise<StdioChannel> => this.run({ key, callerId, initialize }, target, holder);
    return {
      post: async (message, options) => (await run()).post(message, options),
      listen: async (options) => (await run()).listen(options),
      end: async () => {
        const session = this.sessions.get(key);
        if (session !== undefined) await end(session);
        return plainAnswer(200);
      },
    };
  }

  private run(asked: StdioSession, target: StdioTarget, holder: ProgramHolder): Promise<StdioChannel> {
    const { key, callerId, initialize } = asked;
    const known = this.sessions.get(key);
    if (known?.revision === target.revision) return known.channel;
    if (known !== undefined) void end(known);
    const session: Session = {
      revision: target.revision,
      channel: this.open(target, holder, initialize, () => forget()),
    };
    const unwatch = this.watches.map((watch) => watch(target, callerId, () => void end(session)));
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

async function end({ channel }: Session): Promise<void> {
  const opened = await channel.catch(() => undefined);
  await opened?.end();
}
