import { Injectable } from '@nestjs/common';
import { DomainError } from '../../common/domain-error.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';
import { type Dispatch, type Sent, UpstreamSender } from '../forwarding/upstream-sender.js';
import { brokenAnswer } from '../forwarding/relay/broken-answer.js';
import { parseMessage } from '../forwarding/relay/complete-answer.js';
import { translatedInitialize, isWellFormed } from './legacy-initialize.js';
import { ownAnswer } from './own-answer.js';
import { gather } from './to-modern-answer.js';
import { UpstreamEras } from './upstream-eras.js';
import { discard } from '../../upstreams/messages/answer-body.js';

/** The answer to an `initialize` whose session is translated. */
export interface TranslatedOpening extends UpstreamAnswer {
  readonly isTranslated: true;
}

/**
 * Sends `initialize` upstream. One that an upstream of the modern era refuses, though nothing is wrong with it, is answered here:
 * that upstream speaks no other era. So is one for a program by a caller without a credential.
 */
@Injectable()
export class InitializeNegotiator extends UpstreamSender {
  constructor(
    private readonly upstreams: UpstreamChannels,
    health: UpstreamHealth,
    private readonly eras: UpstreamEras,
  ) {
    super(upstreams, health);
  }

  /** @throws DomainError `connection_unavailable`, UpstreamError */
  override async send(dispatch: Dispatch): Promise<Sent> {
    const { connection, principal } = dispatch.caller;
    // Nobody could tell one of them from another, so they cannot have a process each.
    if (connection.type === 'STDIO' && principal === undefined) return { answer: await this.openShared(dispatch) };
    let sent: Sent;
    try {
      const { answer, sentId } = await super.send(dispatch);
      const read = await this.read(answer, dispatch);
      sent = { answer: read.answer, sentId };
      if (!read.isRefusal) return sent;
    } catch (error) {
      const mayBeRefusal = error instanceof UpstreamError && (error.kind === 'rpc' || error.kind === 'protocol');
      const translated = mayBeRefusal ? await this.translate(dispatch) : undefined;
      if (translated === undefined) throw error;
      return { answer: translated };
    }
    const translated = await this.translate(dispatch);
    if (translated === undefined) return sent;
    discard(sent.answer.body);
    return { answer: translated };
  }

  /** An answer in one body is short, and read as a whole to see what it says. */
  private async read(
    answer: UpstreamAnswer,
    { scope }: Dispatch,
  ): Promise<{ answer: UpstreamAnswer; isRefusal: boolean }> {
    if (answer.contentType !== 'application/json') return { answer, isRefusal: false };
    const bytes = await gather(answer.body).catch((error: unknown) => {
      throw brokenAnswer(error, scope);
    });
    const isRefusal = parseMessage(bytes.toString('utf8'))?.['error'] !== undefined;
    return { answer: { ...answer, body: bytes }, isRefusal };
  }

  /** A session in name only: what is asked in it goes to the program that all callers without a session share. */
  private async openShared({ caller: { connection }, message, scope }: Dispatch): Promise<TranslatedOpening> {
    if (message.kind !== 'request' || !isWellFormed(message)) {
      throw new DomainError('invalid_rpc_request', 'The params of `initialize` are not those of MCP.');
    }
    const serverDescription = await this.eras.of(connection, scope.signal);
    return { ...ownAnswer(translatedInitialize(message, serverDescription, connection.title)), isTranslated: true };
  }

  /** Undefined when the refusal is not about the era. */
  private async translate(dispatch: Dispatch): Promise<TranslatedOpening | undefined> {
    const { caller, message, scope } = dispatch;
    if (message.kind !== 'request' || !isWellFormed(message)) return undefined;
    // If that cannot be found out, the refusal stands.
    const serverDescription = await this.eras.of(caller.connection, scope.signal).catch(() => undefined);
    if (serverDescription?.isModern !== true) return undefined;
    await this.endProgram(dispatch);
    const text = translatedInitialize(message, serverDescription, caller.connection.title);
    return { ...ownAnswer(text), isTranslated: true };
  }

  /** The run that refused belongs to nobody now. */
  private async endProgram({ caller: { connection }, route, scope: { signal } }: Dispatch): Promise<void> {
    if (connection.type !== 'STDIO' || route.kind !== 'opening') return;
    const channel = await this.upstreams.session(connection, { key: route.key });
    await channel.end({ signal });
  }
}
