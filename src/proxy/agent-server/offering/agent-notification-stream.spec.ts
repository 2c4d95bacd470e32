import { expect, it } from '@jest/globals';
import { AnswerBudget } from '../../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import type { ReplyWriter } from '../../forwarding/reply-writer.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { SessionStreams } from '../../forwarding/session/session-streams.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import type { SessionSubscriptions } from '../../translation/subscriptions/session-subscriptions.js';
import type { AgentMcpServer } from './agent-mcp-server.js';
import { AgentNotificationStream, type ListChanges } from './agent-notification-stream.js';
import type { AgentSubscriptions } from './agent-subscriptions.js';

const MEMORY = 8 * 1024 * 1024;
const HOLDER = { organization: { id: 'acme' }, callerId: 'key' };

it('notifications of an agent that the caller has not taken have room in its share', async () => {
  const budget = new AnswerBudget(MEMORY);
  const streams = new SessionStreams();
  const notifications = new AgentNotificationStream(
    { changesFor: async function* () {} } as unknown as ListChanges,
    {} as AgentMcpServer,
    {} as ReplyWriter,
    {} as AgentSubscriptions,
    { listen: () => () => undefined } as unknown as SessionSubscriptions,
    streams,
    new AnswerRooms(budget),
  );
  const session = { key: 'k' } as Session;
  const closed = new AbortController();
  const events = notifications.events({ caller: { principal: HOLDER } as ProxyCaller, session }, closed.signal);
  const first = events.next();
  const log = { method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(10_000) } };
  for (let sent = 0; sent < 50; sent++) streams.send(session, log);
  await first;
  for (let sent = 0; sent < 50; sent++) streams.send(session, log);
  expect(budget.heldBytes).toBeGreaterThan(500_000);
  closed.abort();
  await events.return(undefined);
  expect(budget.heldBytes).toBe(0);
});
