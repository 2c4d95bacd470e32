import {
  type ModelBehaviour,
  type ModelApi,
  type ModelServer,
  startModelServer,
} from '../../src/boot/testing/model-server.js';
import type { Findings } from './field-client.js';
import type { FieldTask } from './field-target.js';

/** The only credential that the model accepts. */
export const MODEL_KEY = 'scripted-model-key';
/** What the model says after the call. */
export const LAST_WORDS = 'The tool has answered.';

/** A model that calls the tool of a task once, with its arguments, by whatever name a client offers it. */
export interface FieldModel {
  baseUrl: string;
  /** What the client told the model of its tools, and with the request after the call. */
  findings(): Findings;
  close(): Promise<void>;
}

/** @param api how the client speaks to models */
export async function startFieldModel<Body extends object>(api: ModelApi<Body>, task: FieldTask): Promise<FieldModel> {
  let tools: string[] | undefined;
  let result: unknown;
  const answer = (body: Body): ModelBehaviour => {
    const offered = namesIn('tools' in body ? body.tools : []);
    const name = offered.find((name) => name.endsWith(task.tool));
    // Clients also ask for titles and the like.
    if (name === undefined) return { kind: 'text', deltas: ['Nothing to do.'] };
    if (tools === undefined) {
      tools = offered;
      return { kind: 'tool-calls', calls: [{ name, arguments: task.args }] };
    }
    result = body;
    return { kind: 'text', deltas: [LAST_WORDS] };
  };
  const { baseUrl, close, requests }: ModelServer<Body> = await startModelServer(api, answer);
  const findings = (): Findings => {
    if (tools === undefined) throw new Error(`The model was never offered the tool: ${JSON.stringify(requests)}`);
    return { tools, result };
  };
  return { baseUrl, findings, close };
}

/** The names of the tools in a request, wherever its API has them. */
function namesIn(tools: unknown): string[] {
  if (typeof tools !== 'object' || tools === null) return [];
  const inner = Object.values(tools).flatMap(namesIn);
  return 'name' in tools && typeof tools.name === 'string' ? [tools.name, ...inner] : inner;
}
