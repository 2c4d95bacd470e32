import { EventEmitter } from 'node:events';
import { expect, it } from '@jest/globals';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AgentComposition } from '../../../agents/composition/agent-composition.js';
import { AnswerBudget } from '../../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import type { AskTool } from '../ask/ask-tool.js';
import type { AgentPromptsAndResources, SourceRequestOptions } from './agent-prompts-and-resources.js';
import { AgentMcpServer, type AgentServerContext } from './agent-mcp-server.js';

const SIZE = 100_000;

it('a resource that an agent passes on has room in the share of the caller, until the response is sent', async () => {
  const budget = new AnswerBudget(64 * 1024 * 1024);
  const offers = {
    findResource: async () => ({ sources: [], uri: 'own:' }),
    ask: async (_sources: unknown, _method: string, _params: unknown, { room }: SourceRequestOptions) => {
      await room?.enter(SIZE);
      room?.reserve(SIZE);
      return { contents: [] };
    },
  } as unknown as AgentPromptsAndResources;
  const servers = new AgentMcpServer({} as AgentComposition, offers, {} as AskTool, new AnswerRooms(budget));
  const raw = Object.assign(new EventEmitter(), { destroyed: false, setTimeout: () => undefined });
  const principal = { organization: { id: 'acme' }, callerId: 'key' };
  const server = servers.for({
    caller: { requestId: 'r', connection: { title: 'Agent' } },
    exchange: { request: { principal } as FastifyRequest, reply: { raw } as unknown as FastifyReply },
    compose: async () => ({}),
    features: { resources: {} },
    client: {},
  } as unknown as AgentServerContext);
  const client = new Client({ name: 'test', version: '1' });
  const [ofClient, ofServer] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(ofServer), client.connect(ofClient)]);
  await client.readResource({ uri: 'asked:' });
  expect(budget.heldBytes).toBe(2 * SIZE);
  raw.emit('close');
  expect(budget.heldBytes).toBe(0);
  await client.close();
});
