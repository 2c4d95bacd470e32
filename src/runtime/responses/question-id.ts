const QUESTION_ID = /^question_(?<mode>[fbt])_(?<previous>[0-9a-f-]{36}|none)_(?<tail>[0-9A-Za-z-]{1,64})$/;
const INSTRUCTIONS_ID = /^instructions_/;

export type QuestionMode = 'foreground' | 'background' | 'transient';

const LETTERS: Readonly<Record<QuestionMode, string>> = { foreground: 'f', background: 'b', transient: 't' };
const MODES: Readonly<Record<string, QuestionMode>> = { f: 'foreground', b: 'background', t: 'transient' };

/**
 * What the id of a user message tells of the response to it: responses have no store of their own.
 *
 * `tail` makes the id unique within the thread. On a new thread or a copy it is the thread, and otherwise an id of the
 * request.
 */
interface QuestionFacts {
  /** The run or the approval in the id of the response that it continues; null if it names none. */
  readonly previous: string | null;
  /** How the response was asked for: in the foreground, in the background, or without being stored. */
  readonly mode: QuestionMode;
  readonly tail: string;
}

export function questionId({ previous, mode, tail }: QuestionFacts): string {
  return `question_${LETTERS[mode]}_${previous ?? 'none'}_${tail}`;
}

/** The facts in the id of a message; undefined for a message that was not posted as a response. */
export function factsOf(id: string): QuestionFacts | undefined {
  const { mode: letter = '', previous = '', tail = '' } = QUESTION_ID.exec(id)?.groups ?? {};
  const mode = MODES[letter];
  if (mode === undefined) return undefined;
  return { previous: previous === 'none' ? null : previous, mode, tail };
}

/** The id of the system message with the instructions of a response. */
export function instructionsId(tail: string): string {
  return `instructions_${tail}`;
}

export function isInstructions(id: string): boolean {
  return INSTRUCTIONS_ID.test(id);
}
