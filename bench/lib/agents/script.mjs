/** The chunks of text of each answer of the scripted model. */
export const WORDS = Array.from({ length: 20 }, (_, i) => `word${i} `);
export const ANSWER = WORDS.join('');
/** In a question: the answer takes ten seconds. */
export const SLOW = 'Slowly, please.';
/** In all other questions. */
export const QUICK = 'At once, please.';
