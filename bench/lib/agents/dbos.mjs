/** DBOS: a workflow of one step, which writes the words to the workflow's durable stream. */
import { createRequire } from 'node:module';
import { wordsOf } from './model-client.mjs';
import { servePeer } from './peer-http.mjs';

const { DBOS } = createRequire(`${process.env.PEER_FOLDER}/package.json`)('@dbos-inc/dbos-sdk');
const KEY = 'words';

const answer = DBOS.registerWorkflow(
  async (question) => {
    const text = await DBOS.runStep(
      async () => {
        const words = [];
        for await (const word of wordsOf(question)) {
          await DBOS.writeStream(KEY, word);
          words.push(word);
        }
        return words.join('');
      },
      { name: 'model' },
    );
    await DBOS.closeStream(KEY);
    return text;
  },
  { name: 'answer' },
);

DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: process.env.DATABASE_URL,
  logLevel: 'error',
  runAdminServer: false,
});
await DBOS.launch();

async function follow(run, after, reader) {
  let index = 0;
  for await (const word of DBOS.readStream(run, KEY)) {
    if (index > after) reader.word(index, word);
    index++;
  }
  reader.end();
}

servePeer({
  async start(run, question, reader) {
    await DBOS.startWorkflow(answer, { workflowID: run })(question);
    reader.accept();
    await follow(run, -1, reader);
  },
  follow,
  async answers(run) {
    const status = await DBOS.getWorkflowStatus(run);
    return status?.status === 'SUCCESS' ? [status.output ?? (await DBOS.retrieveWorkflow(run).getResult())] : [];
  },
});
