import { isRecord } from '../core/is-record.js';
import { rule } from '../core/validation/rule.js';

const MAX_COMMAND_LENGTH = 256;
const MAX_ARGS = 64;
const MAX_ARG_LENGTH = 4096;
const MAX_ARGS_BYTES = 65_536;
/** Maximum length of a value, so that a private key fits; `environmentFaults` bounds all values together. */
const MAX_VALUE_LENGTH = 16_384;
const MAX_PATH_LENGTH = 1024;

/** The command of a STDIO connection. `STDIO_COMMANDS` decides which commands are allowed. */
export function IsCommand(): PropertyDecorator {
  return rule(
    'isCommand',
    { type: 'string', minLength: 1, maxLength: MAX_COMMAND_LENGTH },
    (value) => typeof value === 'string' && value.length > 0 && value.length <= MAX_COMMAND_LENGTH,
    `must be a command of at most ${MAX_COMMAND_LENGTH} characters`,
  );
}

/** Passed to the program one by one, without a shell. */
export function IsArgumentList(): PropertyDecorator {
  return rule(
    'isArgumentList',
    { type: 'array', maxItems: MAX_ARGS, items: { type: 'string', maxLength: MAX_ARG_LENGTH } },
    (value) =>
      Array.isArray(value) &&
      value.length <= MAX_ARGS &&
      value.every((arg) => isTextWithin(arg, MAX_ARG_LENGTH)) &&
      Buffer.byteLength(value.join('')) <= MAX_ARGS_BYTES,
    `must be a list of at most ${MAX_ARGS} strings of at most ${MAX_ARG_LENGTH} characters, ${MAX_ARGS_BYTES} ` +
      'bytes in total',
  );
}

/** An object of variable name → value. `environmentFaults` checks the names. */
export function IsEnvironment(): PropertyDecorator {
  return rule(
    'isEnvironment',
    {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: MAX_VALUE_LENGTH },
      description:
        'Variable name → value. Values are write-only: reads return "***", and "***" in an update keeps the stored ' +
        'value.',
    },
    (value) => isRecord(value) && Object.values(value).every((text) => isTextWithin(text, MAX_VALUE_LENGTH)),
    `must be an object whose values are strings of at most ${MAX_VALUE_LENGTH} characters`,
  );
}

export function IsAbsolutePath(): PropertyDecorator {
  return rule(
    'isAbsolutePath',
    { type: 'string', pattern: '^/', maxLength: MAX_PATH_LENGTH },
    (value) => isTextWithin(value, MAX_PATH_LENGTH) && value.startsWith('/'),
    `must be an absolute path of at most ${MAX_PATH_LENGTH} characters`,
  );
}

function isTextWithin(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength;
}
