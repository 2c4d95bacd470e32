import { expect, it } from '@jest/globals';
import { newId } from '../../../src/core/ids.js';
import { auditOf } from '../../support/proxy-connections.js';
import type { Tenant } from '../../support/tenant.js';
import { ACCEPTED, ALL, answerWith, callAsking, openClient, openSession, textOf } from './asked-clients.support.js';

export const QUESTION = {
  mode: 'form',
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
};

/** An upstream that asks, and how its answers differ from those of others. */
interface Asking {
  readonly app: () => Tenant;
  readonly path: () => string;
  readonly connectionId: () => string;
  /** The id under which a page is opened. */
  readonly elicitationId: unknown;
  /** How often a call that asks twice can report progress. */
  readonly progress: readonly number[];
  /** The result of a call that asks for a form, a completion and the roots. */
  readonly together: unknown;
  /** What a client has declared, in the result of `plain`. */
  readonly declaredIn: (result: unknown) => unknown;
}

/** What holds for a legacy client whose call asks it, whichever upstream asks. */
export function askedClientContract(asking: Asking): void {
  const { app, path, connectionId, elicitationId, progress, together, declaredIn } = asking;

  it.each([
    ['accepts', ACCEPTED],
    ['declines', { action: 'decline' as const }],
    ['cancels', { action: 'cancel' as const }],
  ])('%s, and the upstream gets its answer', async (_what, answer) => {
    const { client, asked } = await openClient(app(), path(), { elicit: () => answer });
    expect(await textOf(client, 'ask')).toEqual(answer);
    expect(asked).toEqual([QUESTION]);
    await client.close();
  });

  it('is asked again by the same call, which reports progress', async () => {
    const { client, asked } = await openClient(app(), path());
    let reported = 0;
    expect(await textOf(client, 'again', () => reported++)).toEqual([ACCEPTED, ACCEPTED]);
    expect(asked).toMatchObject([{ message: 'Question 1' }, { message: 'Question 2' }]);
    expect(progress).toContain(reported);
    await client.close();
  });

  it('answers a form, a completion and the roots, which the call asks for at once', async () => {
    const { client } = await openClient(app(), path());
    expect(await textOf(client, 'together')).toEqual(together);
    await client.close();
  });

  it('opens a page, whose request has an id', async () => {
    const { client, asked } = await openClient(app(), path(), { elicit: () => ({ action: 'accept' }) });
    expect(await textOf(client, 'visit')).toEqual({ action: 'accept' });
    const url = 'https://a.example/visit';
    expect(asked).toEqual([{ mode: 'url', url, message: 'Visit it', elicitationId }]);
    await client.close();
  });

  it('is asked for prompts and resources too', async () => {
    const { client, asked } = await openClient(app(), path());
    const { messages } = await client.getPrompt({ name: 'ask' });
    expect(messages[0]?.content).toEqual({ type: 'text', text: JSON.stringify(ACCEPTED) });
    const { contents } = await client.readResource({ uri: 'ask://one' });
    expect(contents).toEqual([{ uri: 'ask://one', text: JSON.stringify(ACCEPTED) }]);
    expect(asked).toEqual([QUESTION, QUESTION]);
    await client.close();
  });

  it('declares to the upstream what it declares to the service, and no more', async () => {
    const seen: unknown[] = [];
    for (const capabilities of [ALL, { sampling: {} }, { elicitation: {} }, {}]) {
      const { client } = await openClient(app(), path(), { capabilities });
      seen.push(declaredIn(await textOf(client, 'plain')));
      await client.close();
    }
    expect(seen).toEqual([ALL, { sampling: {} }, { elicitation: { form: {} } }, {}]);
  });

  it('makes one call, which is recorded once', async () => {
    const session = await openSession(app(), path());
    const [ofCall, ofAnswer] = [newId(), newId()];
    const { asked, rest } = await callAsking(app(), path(), { ...session, 'x-request-id': ofCall });
    await answerWith(app(), path(), { ...session, 'x-request-id': ofAnswer }, { id: asked.id, result: ACCEPTED });
    await rest;
    expect(await auditOf(app(), ofCall)).toMatchObject({
      tool_name: 'ask',
      connection_id: connectionId(),
      status: 'success',
    });
    expect(await auditOf(app(), ofAnswer)).toBeUndefined();
  });
}
