import { Injectable } from '@nestjs/common';
import type { OutgoingMessage, UpstreamChannel } from '../channel/upstream-channel.js';
import type { StdioTarget } from '../upstream-target.js';
import { StdioChannel } from './stdio-channel.js';
import { plainAnswer } from './stdio-exchange.js';
import { StdioProcesses } from './stdio-processes.js';

interface Session {
  readonly revision: string;
  readonly channel: Promise<StdioChannel>;
}

/** The runs of programs that belong to one MCP session each, by the session's key, as long as they run. */
@Injectable()
export class StdioSessions {
  private readonly sessions = new Map<string, Session>();

  constructor(private readonly processes: StdioProcesses) {}

  /**
   * The channel of a session. What it needs a run for starts one, if none is there: one that has ended (idle, failed, in
   * another process, or of a connection edited since) is followed by a new one that is initialized as the session was;
   * what else the session had told it is lost.
   * @param key names the session among all callers
   * @param initialize the caller's `initialize` request; undefined when it is about to be sent
   */
  channel(key: string, target: StdioTarget, initialize: OutgoingMessage | undefined): UpstreamChannel {
    return {
      post: async (message, options) => (await this.run(key, target, initialize)).post(message, options),
      listen: async (options) => (await this.run(key, target, initialize)).listen(options),
      end: async () => {
        const session = this.sessions.get(key);
        if (session !== undefined) await end(session);
        return plainAnswer(200);
      },
    };
  }

  private run(key: string, target: StdioTarget, initialize: OutgoingMessage | undefined): Promise<StdioChannel> {
    const known = this.sessions.get(key);
    if (known?.revision === target.revision) return known.channel;
    if (known !== undefined) void end(known);
    const session: Session = { revision: target.revision, channel: this.open(target, initialize, () => forget()) };
    const forget = (): void => {
      if (this.sessions.get(key) === session) this.sessions.delete(key);
    };
    this.sessions.set(key, session);
    session.channel.catch(forget);
    return session.channel;
  }

  private async open(
    target: StdioTarget,
    initialize: OutgoingMessage | undefined,
    onEnded: () => void,
  ): Promise<StdioChannel> {
    const channel = await StdioChannel.open(this.processes, target, onEnded);
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
