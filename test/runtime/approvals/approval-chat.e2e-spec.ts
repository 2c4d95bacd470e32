import { expect, it } from '@jest/globals';
import { answerApproval } from '../../../examples/next-chat/lib/signalbox-chat.js';
import { ThreadClient } from '../../support/agent-runs.js';
import { chatOf, memoryChat } from '../../support/memory-chat.js';
import { eventually } from '../../support/eventually.js';
import { useApprovalsApp } from './approvals.support.js';
import { newTenant } from '../../support/tenant.js';

const own = useApprovalsApp(newTenant);

it.each([true, false])(
  'a chat of the AI SDK shows the request and what came of the answer approved: %j',
  async (approved) => {
    const { app, agentId } = own;
    const thread = await ThreadClient.create(app, agentId);
    const chatHere = chatOf(app, agentId);
    const chat = memoryChat({ id: thread.id, chat: chatHere });
    const sending = chat.sendMessage({ text: '/call send {}' });
    await eventually(() => expect(chat.calls[0]?.state).toBe('approval-requested'));
    const id = chat.calls[0]?.approval?.id ?? '';
    // As a page does it: shown at once, and sent to the service.
    await chat.addToolApprovalResponse({ id, approved, reason: 'as you like' });
    await answerApproval(chatHere, thread.id, id, { approved, reason: 'as you like' });
    await sending;
    expect(chat).toMatchObject({ status: 'ready', error: undefined });
    expect(chat.calls).toMatchObject([
      {
        state: approved ? 'output-available' : 'output-denied',
        approval: { id, approved, reason: 'as you like' },
      },
    ]);
    const stored = (await thread.messages()).at(-1);
    expect(chat.lastMessage).toMatchObject({ id: stored?.id, role: 'assistant', parts: stored?.parts });
  },
);
