import { createContext } from 'react';

/** What the records say of a tool call. */
export interface CallFacts {
  readonly durationMs: number;
  /** Of the run that the call has made, if it is one of an agent. */
  readonly costUsd?: number;
}

/** The facts of the calls of the answer that is shown, by their ids, as far as they are known. */
export const CallFactsOfAnswer = createContext<ReadonlyMap<string, CallFacts>>(new Map());
