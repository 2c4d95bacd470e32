/** What each call asks the tool `echo` to say again. */
export const MESSAGE = 'The quick brown fox jumps over the lazy dog, again and again....';
