import { EventEmitter, once } from 'node:events';
import type { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnswerBudget } from '../../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import type { ServerDescription } from '../../../upstreams/contract/upstream.js';
import { CallDeadline } from '../../../upstreams/contract/call-deadline.js';
import type { SessionRequest } from '../../forwarding/connection-sessions.js';
import type { ReplyWriter } from '../../forwarding/reply-writer.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../../forwarding/session/session-streams.js';
import type { McpRequestContext } from '../../forwarding/upstream-router.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import type { UpstreamEras } from '../upstream-eras.js';
import type { ChangeStream, ChangeSubscriptions } from './change-subscriptions.js';
import { LegacySubscriptions } from './legacy-subscriptions.js';
import { SessionNotifications } from './session-notifications.js';
import type { SessionSubscriptions } from './session-subscriptions.js';

const MEMORY = 8 * 1024 * 1024;
const DESCRIPTION = {
  isModern: true,
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
} as unknown as ServerDescription;
const caller = {
  connection: { id: 'c', organizationId: 'acme', type: 'HTTP' },
  principal: { organization: { id: 'acme' }, callerId: 'key' },
  holdsAll: true,
  holdsAny: true,
  mayCall: () => true,
} as unknown as ProxyCaller;

let budget: AnswerBudget;
let rooms: AnswerRooms;
/** The stream whose changes the upstream reports. */
let stream: ChangeStream;

const subscriptions = {
  open: async (opened: ChangeStream, { uris }: { uris: readonly string[] }) => {
    stream = opened;
    return uris;
  },
} as unknown as ChangeSubscriptions;

beforeEach(() => {
  budget = new AnswerBudget(MEMORY);
  rooms = new AnswerRooms(budget);
});

/** Opens a stream that nobody reads, in a session at an upstream of the modern era. */
async function listenInSession(): Promise<Readable> {
  const notifications = new SessionNotifications(
    subscriptions,
    { listen: () => () => undefined } as unknown as SessionSubscriptions,
    new SessionStreams(),
    { describeUpstream: async () => DESCRIPTION } as unknown as UpstreamEras,
    { writeReply: () => undefined } as unknown as ReplyWriter,
    rooms,
  );
  const reply = { raw: new EventEmitter() } as unknown as FastifyReply;
  const request = { method: 'GET' } as FastifyRequest;
  const session = { key: 'k' } as Session;
  await notifications.listen({ request, reply, caller, session } as SessionRequest);
  return stream.body;
}

/** The same for a client of the modern era, at an upstream of the legacy era. */
async function subscribe(): Promise<Readable> {
  const legacy = new LegacySubscriptions(subscriptions, rooms);
  const message = { id: '1', params: { notifications: { toolsListChanged: true } } } as unknown as InboundRequest;
  const deadline = new CallDeadline(undefined, 60_000);
  const context = { caller, message, route: { kind: 'pooled' }, deadline } as McpRequestContext<InboundRequest>;
  await legacy.subscribe(context, DESCRIPTION);
  deadline.end();
  return stream.body;
}

describe.each([
  ['in a session', listenInSession],
  ['of a subscription', subscribe],
])('notifications %s that the caller has not taken', (_of, open) => {
  it('have room in the share of the caller, until the stream is closed', async () => {
    const body = await open();
    while (body.readableLength < 500_000 && !body.destroyed) stream.listChanged('tools');
    expect(budget.heldBytes).toBe(body.readableLength);
    body.destroy();
    await once(body, 'close');
    expect(budget.heldBytes).toBe(0);
  });

  it('end the stream if there is no room', async () => {
    budget.openAnswer({ organization: { id: 'acme' }, callerId: 'key' }).reserve(MEMORY);
    const body = await open();
    const failed = once(body, 'error');
    while (!body.destroyed) stream.listChanged('tools');
    expect((await failed)[0]).toMatchObject({ name: 'UpstreamError', kind: 'busy' });
  });
});
