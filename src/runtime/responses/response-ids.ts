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
