import { isUuid } from '../../core/ids.js';

/** An answer of a run that begins with the answers to its requests for approvals, or at its start. */
const RESPONSE_ID = /^resp_(?<uuid>.{36})$/;
/** An item of an answer: the run, the step, the place in the step, and how often the step was begun again. */
const ITEM_ID = /^(?:msg|rs|mcp)_(?<runId>.{36})_\d{1,6}_\d{1,6}(?:r\d{1,6})?$/;
const APPROVAL_ID = /^mcpr_(?<uuid>.{36})$/;

/** The kinds of items that have a place in the steps of an answer. */
type ItemKind = 'msg' | 'rs' | 'mcp';

/** Where an item is in the answer of a run. */
export interface ItemPlace {
  readonly runId: string;
  /** From 1. */
  readonly step: number;
  /** Among the items of the step, from 0. */
  readonly index: number;
  /** How often the reader has seen the step begin again. */
  readonly round?: number | undefined;
}

/** @param uuid the run; or the first approval of a step, for the answer that follows it */
export function responseId(uuid: string): string {
  return `resp_${uuid}`;
}

/** The run or the approval of a response; undefined if no response has such an id. */
export function uuidOfResponse(id: string): string | undefined {
  return uuidIn(RESPONSE_ID.exec(id)?.groups?.['uuid']);
}

export function itemId(kind: ItemKind, { runId, step, index, round = 0 }: ItemPlace): string {
  return `${kind}_${runId}_${step}_${index}${round === 0 ? '' : `r${round}`}`;
}

/** The run that an item of an answer belongs to; undefined for the ids of other items. */
export function runOfItem(id: string): string | undefined {
  return uuidIn(ITEM_ID.exec(id)?.groups?.['runId']);
}

export function approvalRequestId(approvalId: string): string {
  return `mcpr_${approvalId}`;
}

/** The approval that an item asks for; undefined for the ids of other items. */
export function approvalOfItem(id: string): string | undefined {
  return uuidIn(APPROVAL_ID.exec(id)?.groups?.['uuid']);
}

function uuidIn(text: string | undefined): string | undefined {
  return text !== undefined && isUuid(text) ? text.toLowerCase() : undefined;
}

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
