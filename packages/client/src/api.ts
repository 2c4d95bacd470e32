import type { components, paths } from './openapi.js';

/** The operation of each management tool, by the tool's name. */
type ToolOperations = {
  [Path in keyof paths as Path extends `/api/{org}/tools/${infer Name}` ? Name : never]: paths[Path] extends {
    post: infer Operation;
  }
    ? Operation
    : never;
};
type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never;
type RequestOf<T> = T extends { requestBody: infer Body } ? Json<Body> : never;
type ResponseOf<T, Status extends number> = T extends { responses: { [S in Status]: infer Response } }
  ? Json<Response>
  : never;

type Turns = paths['/api/{org}/agent-runtime/threads/{threadId}/messages']['post'];
type Steers = paths['/api/{org}/agent-runtime/threads/{threadId}/steer']['post'];

/** The name of a management tool, such as `COLLECTION_THREADS_CREATE`. */
export type ToolName = keyof ToolOperations;
export type ToolInput<Name extends ToolName> = RequestOf<ToolOperations[Name]>;
export type ToolOutput<Name extends ToolName> = ResponseOf<ToolOperations[Name], 200>;

/** The tools whose output is one page of a list. */
export type ListToolName = {
  [Name in ToolName]: ToolOutput<Name> extends { items: unknown[]; nextCursor?: unknown } ? Name : never;
}[ToolName];
export type ListItem<Name extends ListToolName> = ToolOutput<Name> extends { items: (infer Item)[] } ? Item : never;

/** One user message, an agent, and optionally system messages, a tier and a temperature. */
export type RunRequest = RequestOf<Turns>;
/** A message for a run that is under way. */
export type SteerRequest = RequestOf<Steers>;
/** Whether the run takes the message, or the message got a run of its own. */
export type SteerAccepted = ResponseOf<Steers, 202>;
/**
 * What a run has come to.
 * @template Output the type of the agent's `output_schema`
 */
export type RunResult<Output extends object = Record<string, unknown>> = Omit<ResponseOf<Turns, 200>, 'output'> & {
  /** The object that the run has answered; null unless it is completed and its agent has an `output_schema`. */
  output: Output | null;
};
export type RunStatus = RunResult['status'];

/** What is known of an uploaded file. */
export type FileItem = components['schemas']['FileItem'];

/**
 * A chunk of a streamed answer: a UI-message chunk of the AI SDK. Later versions can send further types, so ignore
 * those that you do not know.
 */
export type Chunk = components['schemas']['UiMessageChunk'];
