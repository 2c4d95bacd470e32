/** Mastra: an agent with memory in PostgreSQL. It stores the messages of a thread, and keeps no stream. */
import { createRequire } from 'node:module';
import { servePeer } from './peer-http.mjs';

const require = createRequire(`${process.env.PEER_FOLDER}/package.json`);
const { createOpenAICompatible } = require('@ai-sdk/openai-compatible');
const { Agent } = require('@mastra/core/agent');
const { Memory } = require('@mastra/memory');
const { PostgresStore } = require('@mastra/pg');

const RESOURCE = 'bench';
const storage = new PostgresStore({ id: 'bench', connectionString: process.env.DATABASE_URL });
await storage.init();
const memory = new Memory({ storage });
const provider = createOpenAICompatible({ name: 'scripted', baseURL: process.env.MODEL_URL });
const agent = new Agent({
  id: 'bench',
  name: 'Benchmark',
  instructions: 'Answer.',
  model: provider.chatModel('scripted'),
  memory,
});

async function answers(threadId) {
  const { messages } = await memory.recall({ threadId, resourceId: RESOURCE });
  const textOf = ({ content: { parts } }) => parts.map(({ text = '' }) => text).join('');
  return messages.filter(({ role }) => role === 'assistant').map(textOf);
}

servePeer({
  async start(run, question, reader) {
    const { textStream } = await agent.stream(question, { memory: { thread: run, resource: RESOURCE } });
    reader.accept();
    await reader.words(textStream);
  },
  answers,
});
