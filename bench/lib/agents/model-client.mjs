import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';

/** The words of the scripted model's answer, as they arrive, for peers that bring no client for models. */
export async function* wordsOf(question) {
  const answer = await fetch(`${process.env.MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted', stream: true, messages: [{ role: 'user', content: question }] }),
  });
  for await (const line of createInterface({ input: Readable.fromWeb(answer.body) })) {
    if (!line.startsWith('data: {')) continue;
    const { content } = JSON.parse(line.slice(6)).choices[0].delta;
    if (content !== undefined) yield content;
  }
}
