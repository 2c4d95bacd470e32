import { ParseCost } from '../../json/parse-cost.js';

/** As much of a line's beginning or end as is searched for its id. */
const SEARCHED_BYTES = 1024;
const ID = '"id"\\s*:\\s*(-?\\d{1,16}|"[^"\\\\]{1,256}")';
/** The members before `result`, as Python writes them, or after it, as the SDK for TypeScript does. */
const AT_BEGINNING = new RegExp(
  `^\\s*\\{\\s*(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?${ID}\\s*,\\s*"(?:result|error|jsonrpc)"`,
);
const AT_END = new RegExp(`,\\s*${ID}\\s*(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);

/** Does parsing the line hold up others, as for an answer over HTTP? */
export function isCostly(line: Buffer): boolean {
  const cost = new ParseCost();
  cost.add(line);
  return cost.isTooHigh;
}

/**
 * The id of the request that a line answers which must not be parsed, as JSON text, where the usual libraries write it. A program
 * that writes another one there can mislead only those who wait for it.
 */
export function answeredIdOf(line: Buffer): string | undefined {
  const beginning = line.toString('utf8', 0, SEARCHED_BYTES);
  const end = line.toString('utf8', Math.max(0, line.length - SEARCHED_BYTES));
  return AT_BEGINNING.exec(beginning)?.[1] ?? AT_END.exec(end)?.[1];
}
