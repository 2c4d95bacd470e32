import type { Behaviour } from './fake-openai.js';

/** An answer of the scripted model with these deltas of a message, for what its other behaviours cannot say. */
export function chatStream(deltas: readonly object[], finishReason: string): Behaviour {
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: finishReason },
  ];
  const chunks = choices.map((choice) => JSON.stringify({ id: 'c', created: 1, model: 'm', choices: [choice] }));
  const body = [...chunks, '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
  return { kind: 'body', contentType: 'text/event-stream', body };
}
