/** LangGraph in this process: a graph of one node with checkpoints in PostgreSQL. It keeps no stream. */
import { createRequire } from 'node:module';
import { servePeer } from './peer-http.mjs';

const require = createRequire(`${process.env.PEER_FOLDER}/package.json`);
const { END, MessagesAnnotation, START, StateGraph } = require('@langchain/langgraph');
const { PostgresSaver } = require('@langchain/langgraph-checkpoint-postgres');
const { ChatOpenAI } = require('@langchain/openai');

const checkpointer = PostgresSaver.fromConnString(process.env.DATABASE_URL);
await checkpointer.setup();
const model = new ChatOpenAI({
  model: 'scripted',
  apiKey: 'none',
  streaming: true,
  configuration: { baseURL: process.env.MODEL_URL },
});
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
  .addEdge(START, 'model')
  .addEdge('model', END)
  .compile({ checkpointer });

const configOf = (run) => ({ configurable: { thread_id: run } });

async function answers(run) {
  const { values } = await graph.getState(configOf(run));
  return (values.messages ?? []).filter((message) => message.getType() === 'ai').map(({ content }) => content);
}

/** The words of the answer, as the model sends them. */
async function* wordsOf(chunks) {
  for await (const [{ content }] of chunks) if (content !== '') yield content;
}

servePeer({
  async start(run, question, reader) {
    const messages = [{ role: 'user', content: question }];
    const chunks = await graph.stream({ messages }, { ...configOf(run), streamMode: 'messages' });
    reader.accept();
    await reader.words(wordsOf(chunks));
  },
  answers,
});
