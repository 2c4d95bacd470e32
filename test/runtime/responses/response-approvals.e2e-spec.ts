import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { newTenant } from '../../support/tenant.js';
import { succeed, ThreadClient } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { answer, useApprovalsApp } from '../approvals/approvals.support.js';
import { expectPublishedShapes } from './checked-fetch.js';
import { collect, finalOf, openAiClient, taskIdOf } from './responses.support.js';

type Item = OpenAI.Responses.ResponseOutputItem;
type ApprovalRequest = Item & { type: 'mcp_approval_request' };

const own = useApprovalsApp(newTenant);
expectPublishedShapes();

/** Scripts the calls of the next step, and the answer to their results. */
function script(...names: string[]): void {
  own.model.script(
    { kind: 'tool-calls', calls: names.map((name) => ({ name, arguments: { to: 'Ann' } })) },
    { kind: 'text', deltas: ['All ', 'done.'] },
  );
}

const newAgent = (rule: unknown) => own.createAgent(rule, { tier: 'thinking' });
const client = () => openAiClient(own.app);

const requestsOf = ({ output }: Pick<OpenAI.Responses.Response, 'output'>) =>
  output.filter((item): item is ApprovalRequest => item.type === 'mcp_approval_request');

const answerTo = ({ id }: ApprovalRequest, approve: boolean, reason?: string) =>
  ({ type: 'mcp_approval_response', approval_request_id: id, approve, ...(reason && { reason }) }) as const;

describe('the tool calls of a response', () => {
  it('are items of its output and of its events', async () => {
    const agentId = await newAgent('none');
    script('send');
    const events = await collect(await client().responses.create({ model: agentId, input: 'go', stream: true }));
    const final = finalOf(events);
    expect(final.output).toMatchObject([
      {
        type: 'mcp_call',
        name: 'send',
        server_label: agentId,
        arguments: '{"to":"Ann"}',
        output: 'send done',
        error: null,
        status: 'completed',
        approval_request_id: null,
      },
      { type: 'message', content: [{ text: 'All done.' }] },
    ]);
    const ofCall = events.filter(
      (event) => 'item_id' in event && event.item_id === (final.output[0] as { id: string }).id,
    );
    expect(ofCall.map(({ type }) => type)).toEqual([
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.in_progress',
      'response.mcp_call.completed',
    ]);
    const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
    expect(done).toEqual(final.output);
  });
});

describe('a response whose calls need approvals', () => {
  it('ends with the requests, and the answers begin the next response of the same run', async () => {
    const agentId = await newAgent('all');
    script('send');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    expect(asked).toMatchObject({ status: 'completed', usage: expect.anything() });
    const [request] = requestsOf(asked);
    expect(asked.output).toEqual([
      { type: 'mcp_approval_request', id: request?.id, name: 'send', server_label: agentId, arguments: '{"to":"Ann"}' },
    ]);
    expect(own.upstream.calls).toEqual([]);
    const next = request?.id.replace(/^mcpr/, 'resp') ?? '';
    for (const stream of [true, false]) {
      await expect(client().responses.retrieve(next, { stream })).rejects.toMatchObject({ status: 404 });
    }
    const input = [answerTo(request as ApprovalRequest, true)];
    const answered = await client().responses.create({ previous_response_id: asked.id, input });
    expect(answered).toMatchObject({
      id: next,
      status: 'completed',
      previous_response_id: asked.id,
      conversation: asked.conversation,
      metadata: { taskId: taskIdOf(asked) },
    });
    expect(answered.id).not.toBe(asked.id);
    expect(answered.output).toMatchObject([
      { type: 'mcp_call', name: 'send', status: 'completed', approval_request_id: request?.id, output: 'send done' },
      { type: 'message', content: [{ text: 'All done.' }] },
    ]);
    expect(own.upstream.calls).toHaveLength(1);
    expect(await client().responses.retrieve(answered.id)).toEqual(answered);
    expect(await client().responses.retrieve(asked.id)).toMatchObject({ status: 'completed', output: asked.output });
    const items = await client().responses.inputItems.list(answered.id);
    expect(items.data).toMatchObject([
      { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true },
    ]);
    own.model.script({ kind: 'text', deltas: ['Bye.'] });
    const thanked = await client().responses.create({ previous_response_id: answered.id, input: 'thanks' });
    expect(thanked).toMatchObject({ previous_response_id: answered.id, conversation: asked.conversation });
  });

  it('is streamed up to the requests, and on from the answers', async () => {
    const agentId = await newAgent(['send']);
    script('look', 'send');
    const events = await collect(await client().responses.create({ model: agentId, input: 'go', stream: true }));
    const asked = finalOf(events);
    expect(asked.status).toBe('completed');
    expect(asked.output.map(({ type }) => type).toSorted()).toEqual(['mcp_approval_request', 'mcp_call']);
    const input = [answerTo(requestsOf(asked)[0] as ApprovalRequest, true)];
    const rest = await collect(await client().responses.create({ model: agentId, input, stream: true }));
    expect(rest.map((event) => event.sequence_number)).toEqual(rest.map((_, index) => index));
    const answered = finalOf(rest);
    expect(answered.output).toMatchObject([{ type: 'mcp_call', name: 'send' }, { type: 'message' }]);
    expect(rest.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))).toEqual(
      answered.output,
    );
    const added = rest.flatMap((event) => (event.type === 'response.output_item.added' ? [event.output_index] : []));
    expect(added).toEqual([0, 1]);
    for (const sent of [events, rest]) {
      const again = await client().responses.retrieve(finalOf(sent).id, { stream: true });
      expect((await collect(again)).slice(0, -1)).toEqual(sent.slice(0, -1));
    }
  });

  it('is not streamed from one of its events on if the live buffer has lost them', async () => {
    const agentId = await newAgent('all');
    script('send');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    const after = (id: string) => client().responses.retrieve(id, { stream: true, starting_after: 2 });
    expect(finalOf(await collect(await after(asked.id)))).toMatchObject({ output: asked.output });
    for (const table of ['run_event_batches', 'run_event_streams']) {
      await own.app.query(`DELETE FROM ${table} WHERE run_id = $1`, [taskIdOf(asked)]);
    }
    const gone = { status: 410, code: 'stream_expired' };
    await expect(after(asked.id)).rejects.toMatchObject(gone);
    const input = [answerTo(requestsOf(asked)[0] as ApprovalRequest, true)];
    const answered = await client().responses.create({ input });
    await expect(after(answered.id)).rejects.toMatchObject(gone);
    const events = await collect(await client().responses.retrieve(answered.id, { stream: true }));
    expect(finalOf(events)).toMatchObject({ status: 'completed', output: answered.output });
  });

  it('is not changed, deleted or continued once the run has answered on', async () => {
    const agentId = await newAgent('all');
    script('send');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    const input = [answerTo(requestsOf(asked)[0] as ApprovalRequest, true)];
    const answered = await client().responses.create({ input });
    const refused = { status: 409, code: 'conflict' };
    await expect(client().responses.delete(asked.id)).rejects.toMatchObject(refused);
    const continued = client().responses.create({ previous_response_id: asked.id, input: 'more' });
    await expect(continued).rejects.toMatchObject({ ...refused, param: 'previous_response_id' });
    expect(await client().responses.cancel(asked.id)).toMatchObject({ id: asked.id, output: asked.output });
    await client().responses.delete(answered.id);
    await expect(client().responses.retrieve(asked.id)).rejects.toMatchObject({ status: 404 });
  });

  it('does not cancel what follows it', async () => {
    const agentId = await newAgent('all');
    own.model.script({ kind: 'tool-calls', calls: [{ name: 'send', arguments: {} }] }, { kind: 'hang' });
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    const input = [answerTo(requestsOf(asked)[0] as ApprovalRequest, true)];
    const before = own.model.requests.length;
    const answered = await client().responses.create({ input, background: true });
    await eventually(() => expect(own.upstream.calls).toHaveLength(1));
    // Otherwise the script would keep what hangs for the next test.
    await eventually(() => expect(own.model.requests).toHaveLength(before + 1));
    expect(await client().responses.cancel(asked.id)).toMatchObject({ id: asked.id, status: 'completed' });
    expect(await client().responses.retrieve(answered.id)).toMatchObject({ status: 'in_progress' });
    expect(await client().responses.cancel(answered.id)).toMatchObject({ id: answered.id, status: 'cancelled' });
  });

  it('is read by everybody who resumes its events and continued by nobody if it is not stored', async () => {
    const agentId = await newAgent('all');
    // Its run does not go on.
    own.model.script({ kind: 'tool-calls', calls: [{ name: 'send', arguments: { to: 'Ann' } }] });
    const asking = await client().responses.create({ model: agentId, input: 'go', store: false, stream: true });
    const asked = finalOf(await collect(asking));
    expect(requestsOf(asked)).toHaveLength(1);
    const notFound = { status: 404, code: 'run_not_found' };
    const goOn = async (place: object) =>
      expect(client().responses.create({ ...place, input: 'more' })).rejects.toMatchObject(notFound);
    await goOn({ previous_response_id: asked.id });
    await goOn({ conversation: asked.conversation?.id });
    await client().responses.cancel(asked.id);
    await goOn({ previous_response_id: asked.id });
    await goOn({ conversation: asked.conversation?.id });
    const resume = async () => collect(await client().responses.retrieve(asked.id, { stream: true }));
    const events = await resume();
    expect(finalOf(events)).toMatchObject({ id: asked.id, store: false });
    expect(await resume()).toEqual(events);
  });

  it('is continued with a question once it is cancelled', async () => {
    const agentId = await newAgent('all');
    script('send');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    await client().responses.cancel(asked.id);
    const thread = new ThreadClient(own.app, agentId, asked.conversation?.id ?? '');
    await thread.waitFor(taskIdOf(asked), 'cancelled');
    const next = await client().responses.create({ previous_response_id: asked.id, input: 'never mind' });
    expect(next).toMatchObject({ conversation: asked.conversation, previous_response_id: asked.id });
    expect(own.upstream.calls).toEqual([]);
  });

  it('goes on without a call that is denied', async () => {
    const agentId = await newAgent('all');
    script('send');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    const input = [answerTo(requestsOf(asked)[0] as ApprovalRequest, false, 'Not Ann.')];
    const answered = await client().responses.create({ previous_response_id: asked.id, input });
    expect(answered.output).toMatchObject([{ type: 'message', content: [{ text: 'All done.' }] }]);
    expect(own.upstream.calls).toEqual([]);
    const again = client().responses.create({ input: [answerTo(requestsOf(asked)[0] as ApprovalRequest, true)] });
    await expect(again).rejects.toMatchObject({ status: 409, code: 'approval_closed' });
  });

  it('leaves the thread, whatever the id of the message says of its response', async () => {
    const agentId = await newAgent('all');
    const thread = await ThreadClient.create(own.app, agentId);
    script('send');
    const message = { id: 'question_t_none_x', role: 'user', parts: [{ type: 'text', text: 'go' }] };
    const { body } = await thread.post({ messages: [message], agent: { id: agentId } }).expect(202);
    const asked = await eventually(async () => {
      const response = await client().responses.retrieve(`resp_${body.taskId}`);
      expect(requestsOf(response)).toHaveLength(1);
      return response;
    });
    const input = [answerTo(requestsOf(asked)[0] as ApprovalRequest, true)];
    expect(await client().responses.create({ model: agentId, input })).toMatchObject({ status: 'completed' });
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
  });

  it('takes all answers together, from callers that may approve', async () => {
    const agentId = await newAgent('all');
    script('send', 'put');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    const [send, put] = requestsOf(asked) as [ApprovalRequest, ApprovalRequest];
    const one = client().responses.create({ input: [answerTo(send, true)] });
    await expect(one).rejects.toMatchObject({ status: 400, code: 'input_mismatch' });
    const busy = client().responses.create({ previous_response_id: asked.id, input: 'hello' });
    await expect(busy).rejects.toMatchObject({ status: 409, code: 'thread_busy' });
    const permissions = { self: ['COLLECTION_THREADS_CREATE'], '*': ['*'] };
    const { key } = await succeed<{ key: string }>(own.app, 'API_KEY_CREATE', { name: 'chat', permissions });
    const input = [answerTo(send, true), answerTo(put, false)];
    const chat = openAiClient({ ...own.app, apiKey: key });
    await expect(chat.responses.create({ input })).rejects.toMatchObject({ status: 403, code: 'permission_denied' });
    const twice = client().responses.create({ input: [...input, answerTo(send, false)] });
    await expect(twice).rejects.toMatchObject({ status: 400, param: 'input[2].approval_request_id' });
    const answered = await client().responses.create({ input });
    expect(answered.output).toMatchObject([{ type: 'mcp_call', name: 'send' }, { type: 'message' }]);
  });

  it('takes no answer if another one counts for one of them', async () => {
    const agentId = await newAgent('all');
    script('send', 'put');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    const [send, put] = requestsOf(asked) as [ApprovalRequest, ApprovalRequest];
    const denied = await answer(own.app, asked.conversation?.id ?? '', put.id.replace(/^mcpr_/, ''), {
      approved: false,
    });
    expect(denied.status).toBe(202);
    const both = client().responses.create({ input: [answerTo(send, true), answerTo(put, true)] });
    await expect(both).rejects.toMatchObject({ status: 409, code: 'approval_closed' });
    expect(await client().responses.retrieve(asked.id)).toMatchObject({ status: 'completed', output: asked.output });
    const answered = await client().responses.create({ input: [answerTo(send, false), answerTo(put, false)] });
    expect(answered.output).toMatchObject([{ type: 'message' }]);
    expect(own.upstream.calls).toEqual([]);
  });

  it('takes no answer if the time for one of them has passed, whichever comes first', async () => {
    for (const late of [0, 1]) {
      const agentId = await newAgent('all');
      script('send', 'put');
      const asked = await client().responses.create({ model: agentId, input: 'go' });
      const requests = requestsOf(asked) as [ApprovalRequest, ApprovalRequest];
      const approvalIdOf = ({ id }: ApprovalRequest): string => id.replace(/^mcpr_/, '');
      const lateId = approvalIdOf(requests[late] as ApprovalRequest);
      const openId = approvalIdOf(requests[1 - late] as ApprovalRequest);
      await own.app.query('UPDATE run_approvals SET expires_at = now() WHERE id = $1', [lateId]);
      const both = client().responses.create({ input: requests.map((request) => answerTo(request, true)) });
      await expect(both).rejects.toMatchObject({ status: 409, code: 'approval_closed' });
      const stored = await own.app.query('SELECT approved FROM run_approvals WHERE id = $1', [openId]);
      expect(stored).toEqual([{ approved: null }]);
      const answered = await client().responses.create({
        input: [answerTo(requests[1 - late] as ApprovalRequest, false)],
      });
      expect(answered.output).toMatchObject([{ type: 'message' }]);
    }
    expect(own.upstream.calls).toEqual([]);
  });

  it('takes all answers of one of two requests at once', async () => {
    const agentId = await newAgent('all');
    script('send', 'put');
    const asked = await client().responses.create({ model: agentId, input: 'go' });
    const [send, put] = requestsOf(asked) as [ApprovalRequest, ApprovalRequest];
    const answers = [
      [answerTo(send, true), answerTo(put, false)],
      [answerTo(put, true), answerTo(send, false)],
    ];
    const results = await Promise.allSettled(answers.map((input) => client().responses.create({ input })));
    const won = results.findIndex(({ status }) => status === 'fulfilled');
    expect(results[1 - won]).toMatchObject({ status: 'rejected', reason: { status: 409, code: 'approval_closed' } });
    expect(results[won]).toMatchObject({
      value: { output: [{ type: 'mcp_call', name: won === 0 ? 'send' : 'put' }, { type: 'message' }] },
    });
    expect(own.upstream.calls).toHaveLength(1);
  });
});
