import { ProtocolError } from '@modelcontextprotocol/client';
import { methodNotFound } from '../contract/upstream-request.js';
import { discard } from './answer-body.js';
import type { UpstreamChannel } from './upstream-channel.js';

const TIMEOUT_MS = 10_000;

/** Sends the upstream what it asked for, or the error if there is none. Never rejects. */
export async function answerRequest(
  channel: Pick<UpstreamChannel, 'postMessage'>,
  id: string | number,
  answering: Promise<object | undefined> | undefined,
  caller?: string,
): Promise<void> {
  const answer = await Promise.resolve(answering).then(
    (result) => (result === undefined ? { error: errorOf(undefined) } : { result }),
    (error: unknown) => ({ error: errorOf(error) }),
  );
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  const options = { signal: AbortSignal.timeout(TIMEOUT_MS), ...(caller !== undefined && { caller }) };
  await channel.postMessage({ body }, options).then(
    ({ body: rest }) => discard(rest),
    () => undefined,
  );
}

function errorOf(error: unknown): object {
  const { code, message } = error instanceof ProtocolError ? error : methodNotFound();
  return { code, message };
}
