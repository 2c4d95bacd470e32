/** VoltAgent: an agent with memory in PostgreSQL. It stores the messages of a conversation, and keeps no stream. */
import { createRequire } from 'node:module';
import { servePeer } from './peer-http.mjs';

const require = createRequire(`${process.env.PEER_FOLDER}/package.json`);
const { createOpenAICompatible } = require('@ai-sdk/openai-compatible');
const { Agent, Memory } = require('@voltagent/core');
const { PostgreSQLMemoryAdapter } = require('@voltagent/postgres');

const USER = 'bench';
/** Its default of 10 hangs with 16 callers. */
const MAX_CONNECTIONS = 40;
const storage = new PostgreSQLMemoryAdapter({ connection: process.env.DATABASE_URL, maxConnections: MAX_CONNECTIONS });
const provider = createOpenAICompatible({ name: 'scripted', baseURL: process.env.MODEL_URL });
const agent = new Agent({
  name: 'Benchmark',
  instructions: 'Answer.',
  model: provider.chatModel('scripted'),
  memory: new Memory({ storage }),
});

async function answers(conversationId) {
  const messages = await storage.getMessages(USER, conversationId);
  const textOf = ({ parts }) => parts.map(({ text = '' }) => text).join('');
  return messages.filter(({ role }) => role === 'assistant').map(textOf);
}

servePeer({
  async start(run, question, reader) {
    const { textStream } = await agent.streamText(question, { userId: USER, conversationId: run });
    reader.accept();
    await reader.words(textStream);
  },
  answers,
});
