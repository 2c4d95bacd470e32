import type { FieldTask } from './field-target.js';

/** What a client has found, in its own words. */
export interface Findings {
  /** The names of the tools, as it calls them. */
  tools: string[];
  /** What it made of the result of the call. */
  result: unknown;
  prompt?: unknown;
  resource?: unknown;
  /** What it made of the answer to a call of the tool that is withheld. */
  refusal?: unknown;
}

/** Where a client runs. */
export interface Place {
  /** The folder of its installation. */
  installed: string;
  /** Its home and working directory: empty, and nobody else's. */
  home: string;
}

/** A client as its users have it. */
export interface FieldClient {
  /** The package. */
  name: string;
  /** Which of the versions in the manifest, if there are several. */
  major?: number;
  /** What it shows beside the list of tools and a call. */
  shows: readonly ('prompt' | 'resource' | 'refusal')[];
  /** How it is used, for the table. */
  how: string;
  run(task: FieldTask, place: Place): Promise<Findings>;
}
