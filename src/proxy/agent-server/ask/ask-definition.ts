import { ArrayMaxSize, IsArray, IsString, Matches } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { AskOffer } from '../../../agents/composition/composition.js';
import { CALLER_ID } from '../../../core/ids.js';
import { hasRunAccess } from '../../../core/run-access.js';
import { MayBeAbsent } from '../../../core/validation/presence.js';
import { schemaOf } from '../../../core/validation/schema-of.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';

/** The files of a message. */
const MAX_FILES = 20;

/** The arguments of the tool that runs an agent. */
export class AskInput {
  @IsString()
  @Matches(/\S/, { message: 'must contain a word' })
  @JSONSchema({ description: 'What to ask the agent.' })
  message: string;

  @MayBeAbsent()
  @Matches(CALLER_ID, { message: 'must be the id of a thread' })
  @JSONSchema({ description: 'Continues the conversation of an earlier answer. Absent: a new conversation.' })
  thread_id?: string;

  @MayBeAbsent()
  @IsArray()
  @ArrayMaxSize(MAX_FILES)
  @IsString({ each: true })
  @JSONSchema({ description: 'Files for the agent: addresses of uploaded files, or data: URLs.' })
  files?: string[];
}

/** True if the caller can run the agent: the same rule as for posting messages. */
export function mayAsk({ principal, connection }: ProxyCaller): boolean {
  return principal !== undefined && hasRunAccess(principal, connection.id);
}

/** The JSON text of the tool's definition. */
export function askDefinition({ connection: { title } }: ProxyCaller, offer: AskOffer): string {
  const { name, description, outputSchema } = offer;
  const does = `Asks the agent "${title}", and returns its answer. It can take minutes.`;
  const definition = {
    name,
    title: `Ask ${title}`,
    description: description === null ? does : `${does}\n\n${description}`,
    inputSchema: schemaOf(AskInput),
    execution: { taskSupport: 'optional' },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
  const text = JSON.stringify(definition);
  return outputSchema === null ? text : `${text.slice(0, -1)},"outputSchema":${outputSchema}}`;
}
