/** What the benchmarks ask the built-in model: an answer of `ANSWER_CHUNKS` chunks, each word one of them. */
export const QUESTION = '/words 14';
/**
 * The chunks of the answer, without `[DONE]`: the words, and what begins and ends the message, its step and its text.
 */
export const ANSWER_CHUNKS = 20;
