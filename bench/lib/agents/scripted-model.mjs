/**
 * An OpenAI-compatible model server: each answer is the same `WORDS` chunks. It answers as fast as it can; a question
 * that contains `SLOW` gets a chunk each 500 ms, so that a kill meets runs in progress.
 */
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { SLOW, WORDS } from './script.mjs';

const SLOW_MS = 500;

const server = createServer(async (request, response) => {
  const question = (await request.toArray()).join('');
  const isSlow = question.includes(SLOW);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const common = { id: 'answer', object: 'chat.completion.chunk', created: 0, model: 'scripted' };
  const send = (delta, rest) => {
    const data = { ...common, choices: [{ index: 0, delta, finish_reason: rest?.finish ?? null }], usage: rest?.usage };
    response.write(`data: ${JSON.stringify(data)}\n\n`);
  };
  for (const content of WORDS) {
    if (response.destroyed) return;
    if (isSlow) await sleep(SLOW_MS);
    send({ role: 'assistant', content });
  }
  const usage = { prompt_tokens: 1, completion_tokens: WORDS.length, total_tokens: WORDS.length + 1 };
  send({}, { finish: 'stop', usage });
  response.end('data: [DONE]\n\n');
});

server.listen(0, '127.0.0.1', () => console.log(`model on http://127.0.0.1:${server.address().port}/v1`));
process.once('SIGTERM', () => process.exit(0));
