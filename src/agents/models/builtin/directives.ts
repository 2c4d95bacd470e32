import { parseRecord } from '../../../core/is-record.js';

/** One instruction to the built-in model in a user message. */
export type Directive =
  | { kind: 'say'; text: string }
  /** `input` is the JSON text of an object, as the user wrote it. */
  | { kind: 'call'; tool: string; input: string }
  | { kind: 'wait'; milliseconds: number }
  | { kind: 'fail'; message: string }
  /** Text as the user wrote it. */
  | { kind: 'json'; text: string }
  | { kind: 'words'; count: number }
  | { kind: 'random'; count: number };

const MAX_WAIT_MS = 10 * 60 * 1000;
const MAX_WORDS = 100_000;

/**
 * Parses a user message. Lines that start with a slash are directives: `/call <tool> <json>` (without JSON: `{}`),
 * `/wait <ms>` (at most ten minutes), `/fail <message>`, `/json <text>`, `/words <n>` and `/random <n>` (at most
 * 100,000 words). All other lines are text, which the model answers before it follows the directives. An invalid
 * directive becomes a sentence that explains the error.
 */
export function parseDirectives(message: string): Directive[] {
  const lines = message.split(/\r?\n/);
  const text = lines
    .filter((line) => !line.startsWith('/'))
    .join('\n')
    .trim();
  const directives = lines.filter((line) => line.startsWith('/')).map(parseDirective);
  if (text === '' && directives.length > 0) return directives;
  return [{ kind: 'say', text: `You said: ${text}` }, ...directives];
}

function parseDirective(line: string): Directive {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/.exec(line) ?? [];
  switch (name) {
    case 'call':
      return parseCall(argument.trim());
    case 'wait': {
      const milliseconds = parseCount(argument);
      return milliseconds === undefined
        ? say('/wait requires a number of milliseconds, as in "/wait 500".')
        : { kind: 'wait', milliseconds: Math.min(milliseconds, MAX_WAIT_MS) };
    }
    case 'words':
    case 'random': {
      const count = parseCount(argument);
      return count === undefined
        ? say(`/${name} requires a number of words, as in "/${name} 20".`)
        : { kind: name, count: Math.min(count, MAX_WORDS) };
    }
    case 'json':
      return { kind: 'json', text: argument };
    case 'fail':
      return { kind: 'fail', message: argument.trim() || 'The model was told to fail.' };
    default:
      return say(
        `There is no directive /${name}. The built-in model supports /call, /wait, /fail, /json, /words and /random.`,
      );
  }
}

function parseCall(argument: string): Directive {
  const [, tool = '', json = ''] = /^(\S*)\s*(.*)$/.exec(argument) ?? [];
  if (tool === '') return say('/call requires the name of a tool, as in "/call search {"query":"trains"}".');
  const input = json === '' ? '{}' : json;
  return parseRecord(input) !== undefined
    ? { kind: 'call', tool, input }
    : say(`The arguments of "/call ${tool}" are not a JSON object.`);
}

function say(text: string): Directive {
  return { kind: 'say', text };
}

function parseCount(argument: string): number | undefined {
  return /^\d+$/.test(argument.trim()) ? Number(argument) : undefined;
}
